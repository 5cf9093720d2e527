// Draw the figures of a page; they are painted again when the color scheme changes.
async function drawFigures() {
  for (const item of JSON.parse(document.getElementById("items").textContent)) await Bokeh.embed.embed_item(item);
  const documents = Bokeh.documents;
  paint(documents);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => paint(documents));
  return documents;
}
