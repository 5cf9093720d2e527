// The page of a comparison.
async function main() {
  setUpTables();
  for (const item of JSON.parse(document.getElementById("items").textContent)) await Bokeh.embed.embed_item(item);
  const documents = Bokeh.documents;
  paint(documents);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => paint(documents));
  document.body.dataset.ready = "yes";
}

main();
