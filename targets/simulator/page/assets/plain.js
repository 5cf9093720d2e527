// A page whose figures and tables need no more.
async function main() {
  setUpTables();
  await drawFigures();
  document.body.dataset.ready = "yes";
}

main();
