// Figures are drawn on canvas: style sheets do not reach them.
function paint(documents) {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(name).trim();
  const [fg, bg, line, soft] = ["--fg", "--bg", "--line", "--soft"].map(color);
  for (const one of documents)
    for (const model of one._all_models.values()) {
      if (model.type === "Figure")
        model.setv({ background_fill_color: bg, border_fill_color: bg, outline_line_color: line });
      else if (model.type.endsWith("Axis"))
        model.setv({
          axis_label_text_color: fg, major_label_text_color: fg, axis_line_color: soft, major_tick_line_color: soft,
          minor_tick_line_color: null, axis_label_text_font_style: "normal",
        });
      else if (model.type === "Grid" && model.grid_line_color !== null) model.setv({ grid_line_color: line });
      else if (model.type === "Legend")
        model.setv({ label_text_color: fg, background_fill_color: bg, border_line_color: bg });
      else if (model.type === "GlyphRenderer" && /-line$|^roof-/.test(model.name || ""))
        model.glyph.setv({ line_color: fg });
    }
}
