// Alone: start a page that has charts and no sliders.

startCharts();
readHash();
document.documentElement.dataset.ready = "true";
