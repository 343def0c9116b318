// Every image: browsed in the folder beside the page, where that was written. A file of it is loaded
// when it is looked at: a style sheet, since a page from disk may load those and they run nothing.

const loads = new Map();
let shownImages = PAGE;
let browsed = []; // numbers of the images that fit, in their order
let turn = 0;

function startImages() {
  if (!DATA.browsing) return;
  $("#images-tools").hidden = false;
  $("#images-order").addEventListener("change", (event) => set({ order: event.target.value }));
  $("#images-find").addEventListener("input", (event) => set({ find: event.target.value }));
  $("#images-ids").addEventListener("click", async () => {
    const { names } = await contents("index");
    copy(browsed.map((at) => names[at]).join("\n"), `${browsed.length} image names`);
  });
  $("#images-more").addEventListener("click", () => {
    shownImages += PAGE;
    drawImages();
  });
  $("#image-cards").addEventListener("click", (event) => {
    const card = event.target.closest(".card");
    if (card) enlargeImage(Number(card.dataset.image));
  });
  watch(["m", "order", "find"], () => (shownImages = PAGE));
  $("#images").dataset.near = ""; // nothing is loaded before it comes into sight
  follow([$("#images")], drawImages, ["m", "s", "u", "order", "find"]);
}

function fileOf(name) {
  return `${encodeURIComponent(DATA.browsing)}/${name}`;
}

/** What a file of the folder holds; null if it is not there. */
function contents(name) {
  if (!loads.has(name)) loads.set(name, load(name));
  return loads.get(name);
}

function load(name) {
  return new Promise((resolve) => {
    const link = make("link", { rel: "stylesheet", href: fileOf(`${name}.css`) });
    const done = () => {
      const text = getComputedStyle($("#held")).getPropertyValue(`--held-${name}`).replace(/["\s]/g, "");
      link.remove();
      resolve(text ? JSON.parse(new TextDecoder().decode(bytes(text))) : null);
    };
    link.addEventListener("load", done);
    link.addEventListener("error", done);
    document.head.append(link);
  });
}

/** An image as the gallery draws its items; null if its file is not there. */
async function imageOf(at) {
  const found = await contents(String(at));
  return found && { ...found, source: found.file ? fileOf(`${at}.jpg`) : null };
}

async function drawImages() {
  const mine = (turn += 1);
  const index = await contents("index");
  if (!index) {
    $("#images-count").textContent = `The folder ${DATA.browsing} is not beside this page: put it there and load the page again.`;
    return;
  }
  drawOrders(index);
  const { at } = position();
  const order = index.kinds.findIndex((kind) => kind.name === get("order"));
  const counts = index.counts[at][order];
  const word = get("find").toLowerCase();
  browsed = index.names.map((_, n) => n).filter((n) => index.names[n].toLowerCase().includes(word));
  if (counts) browsed = browsed.filter((n) => counts[n]).sort((a, b) => counts[b] - counts[a] || a - b);
  const shown = browsed.slice(0, shownImages);
  const items = await Promise.all(shown.map(imageOf));
  if (mine !== turn) return; // somebody has asked for others
  const focused = $$("#image-cards .card").indexOf(document.activeElement);
  const note = (n) => counts && `${counts[n]} × ${index.kinds[order].title}`;
  const cards = items.map((item, n) => item && imageCard(item, shown[n], note(shown[n])));
  $("#image-cards").replaceChildren(...cards.filter(Boolean));
  if (focused >= 0) $$("#image-cards .card")[focused]?.focus({ preventScroll: true });
  $("#images-count").textContent = `${count(browsed.length)} of ${count(index.names.length)} images.`;
  $("#images-more").hidden = browsed.length <= shownImages;
}

function drawOrders(index) {
  const counts = index.counts[position().at];
  const choices = index.kinds.map((kind, n) => [kind.name, kind.title, counts[n].filter(Boolean).length]);
  const options = [["", "anything", index.names.length], ...choices].map(([value, title, n]) => {
    const option = make("option", { value }, `${title} (${n})`);
    option.selected = value === get("order");
    return option;
  });
  $("#images-order").replaceChildren(...options);
  if ($("#images-find").value !== get("find")) $("#images-find").value = get("find");
}

function imageCard(item, at, note) {
  const button = make("button", { type: "button", class: "card", "data-image": at, "aria-label": item.image });
  const caption = make("span", { class: "caption" }, ...[note, item.image].filter(Boolean).map((text) => make("small", {}, text)));
  button.append(picture(item, position().at), caption);
  return make("div", { role: "listitem" }, button);
}

async function enlargeImage(at) {
  const [index, item] = await Promise.all([contents("index"), imageOf(at)]);
  if (!index || !item) return;
  set({ image: at, item: null });
  const fill = () => fillLightbox(item, imageFacts(index, item, at));
  const step = (by) => {
    const here = browsed.indexOf(at);
    if (browsed.length) enlargeImage(browsed[(here + by + browsed.length) % browsed.length]);
  };
  openLightbox({ fill, step, card: `#image-cards [data-image="${at}"]` });
}

function imageFacts(index, item, at) {
  const model = position().at;
  const counts = index.kinds.map((kind, n) => [kind.title, index.counts[model][n][at]]);
  return [...counts.filter(([, n]) => n), ...shownFacts(item)];
}
