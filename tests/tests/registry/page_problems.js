// What is wrong with the page that is open: an array of texts, evaluated by the test beside the page.
(() => {
  const problems = [];
  const all = (selector) => [...document.querySelectorAll(selector)];
  const say = (what, element) => problems.push(element ? `${what}: ${element.outerHTML.slice(0, 160)}` : what);

  // One of each landmark, one heading of the first level, and none left out below it.
  for (const [selector, count] of [["body > header", 1], ["main", 1], ["body > footer", 1], ["h1", 1]]) {
    if (all(selector).length !== count) say(`${all(selector).length} of ${selector}`);
  }
  if (document.documentElement.lang !== "en" || !document.title) say("no language or title");
  let level = 0;
  for (const heading of all("main h1, main h2, main h3, main h4, main h5, main h6")) {
    const next = Number(heading.tagName[1]);
    if (next > level + 1) say("a heading is left out before", heading);
    level = next;
  }
  const names = all("nav").map((nav) => nav.getAttribute("aria-label"));
  if (names.some((name) => !name) || new Set(names).size !== names.length) say(`navigations are called ${names}`);

  // Names: of fields, buttons, links, pictures, and ids that are told apart.
  for (const field of all("input:not([type=hidden]), select, textarea")) if (!field.labels.length) say("no label", field);
  for (const one of all("button, a[href]")) if (!one.textContent.trim()) say("no text", one);
  for (const image of all("img")) if (!image.hasAttribute("alt")) say("no alt", image);
  const ids = all("[id]").map((element) => element.id);
  if (new Set(ids).size !== ids.length) say("an id occurs twice");
  for (const attribute of ["aria-labelledby", "aria-describedby"]) {
    for (const element of all(`[${attribute}]`)) {
      if (!document.getElementById(element.getAttribute(attribute))) say(`${attribute} names nothing`, element);
    }
  }

  // Nothing from elsewhere, nothing that runs.
  if (document.scripts.length) say("a script");
  for (const entry of performance.getEntriesByType("resource")) {
    if (!entry.name.startsWith(location.origin + "/")) say(`loaded ${entry.name}`);
  }

  // Nobody has to scroll sideways to read; what is wide scrolls in a box of its own.
  // (Not `innerWidth`: a phone shows a page that is too wide smaller, and then calls all of it inner.)
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) say(`the page is ${scrollWidth} wide on a screen of ${clientWidth}`);

  // Text stands out from what is behind it by 4.5 to 1, large text by 3 to 1 (WCAG 2.2, 1.4.3).
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const paint = (colour, under) => {
    canvas.fillStyle = `rgb(${under})`;
    canvas.fillRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data.slice(0, 3)];
  };
  const behind = (element) => {
    const under = element.parentElement ? behind(element.parentElement) : [255, 255, 255];
    return paint(getComputedStyle(element).backgroundColor, under);
  };
  const light = (colour) => {
    const [r, g, b] = colour.map((part) => part / 255).map((x) => (x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const seen = new Set();
  for (const element of all("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    const box = element.getBoundingClientRect();
    if (!own || box.width < 2 || box.height < 2) continue;
    const style = getComputedStyle(element);
    const under = behind(element);
    const [a, b] = [light(paint(style.color, under)), light(under)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const size = parseFloat(style.fontSize);
    const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const key = `${element.tagName}.${element.className} ${ratio.toFixed(2)}`;
    if (ratio < needed && !seen.has(key)) say(`contrast ${ratio.toFixed(2)}`, element);
    seen.add(key);
  }

  // Fingers need room (WCAG 2.2, 2.5.8): 24 by 24, links in running text apart.
  for (const element of all("button, input:not([type=hidden]):not([type=checkbox]), select, nav.tabs a")) {
    const box = element.getBoundingClientRect();
    if (box.width < 24 || box.height < 24) say(`only ${box.width} by ${box.height}`, element);
  }
  return problems;
})()
