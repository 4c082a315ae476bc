// A gallery that can be filtered and sorted. Without the script all cards are shown, in order.
"use strict";

(function start(root, factory) {
  const parts = factory();
  if (typeof module === "object" && module.exports) {
    module.exports = parts;
  } else if (root.document && root.document.getElementById("cards")) {
    parts.run(root.document);
  }
})(typeof self === "object" ? self : globalThis, function factory() {
  // Whether a card is shown: of every group in which something is chosen, it has one of the chosen.
  function shown(card, chosen) {
    return Object.entries(chosen).every(([group, values]) => {
      if (values.size === 0) return true;
      return (card[group] || []).some((value) => values.has(value));
    });
  }

  // The order of two cards by a key; numbers by size, what has no number last.
  function compare(one, other, key) {
    const a = one.order[key];
    const b = other.order[key];
    if (a === b) return one.place - other.place;
    if (a === null || a === undefined) return 1;
    if (b === null || b === undefined) return -1;
    return a < b ? -1 : 1;
  }

  function run(document) {
    const list = document.getElementById("cards");
    const cards = Array.from(list.children).map((element, place) => ({
      element, place, ...JSON.parse(element.dataset.card),
    }));
    const chosen = {};
    const count = document.getElementById("count");

    function paint() {
      let visible = 0;
      for (const card of cards) {
        const on = shown(card.groups, chosen);
        card.element.toggleAttribute("hidden", !on);
        visible += on;
      }
      count.textContent = visible + " of " + cards.length + (cards.length === 1 ? " answer" : " answers");
    }

    for (const button of document.querySelectorAll(".filters button")) {
      button.addEventListener("click", () => {
        const { group, value } = button.dataset;
        chosen[group] = chosen[group] || new Set();
        const on = !chosen[group].has(value);
        if (on) chosen[group].add(value);
        else chosen[group].delete(value);
        button.setAttribute("aria-pressed", String(on));
        paint();
      });
    }
    const sort = document.getElementById("sort");
    if (sort) {
      sort.addEventListener("change", () => {
        const ordered = cards.slice().sort((one, other) => compare(one, other, sort.value));
        list.append(...ordered.map((card) => card.element));
      });
    }
  }

  return { shown, compare, run };
});
