// An answer that answers back: edits can be taken back, counterfactuals chosen. It works from a file.
// What the model says after some of the edits stands in a table on the page; texts are set as text, never as HTML.
"use strict";

(function start(root, factory) {
  const parts = factory();
  if (typeof module === "object" && module.exports) {
    module.exports = parts;
  } else if (root.document && root.document.getElementById("data")) {
    parts.run(root.document);
  }
})(typeof self === "object" ? self : globalThis, function factory() {
  // Whether something is shown while edits are made.
  function holds(all, any, none, made) {
    const has = (key) => made.has(key);
    return all.every(has) && !none.some(has) && (any.length === 0 || any.some(has));
  }

  // The keys of the edits that a bit mask stands for.
  function keysOf(moves, mask) {
    return new Set(moves.filter((move) => (mask >> move.bit) & 1).map((move) => move.key));
  }

  // All edits. Without a table none can be taken back, and there may be more of them than a mask has bits.
  function full(choice) {
    return choice.table ? 2 ** choice.moves.length - 1 : -1;
  }

  // What the model says after some edits: null where nobody asked it.
  function outputOf(choice, mask) {
    if (choice.table) return choice.table[mask];
    return mask === full(choice) ? choice.output : null;
  }

  function told(data, output) {
    const name = data.kind === "class" ? output.name : "";
    const number = output.top;
    return { name, number, text: name ? name + " (" + number + ")" : number };
  }

  function countWords(made, count) {
    if (made === count) return count === 1 ? "With the edit" : count === 2 ? "With both edits" : "With all " + count + " edits";
    if (made === 0) return "With no edit";
    return "With " + made + " of " + count + " edits";
  }

  // Whether the constraints forbid some of the edits without the others.
  function isForbidden(choice, mask) {
    return (choice.forbidden || []).includes(mask);
  }

  // The sentences beneath the toggles: what the model says, and whether the edits made are allowed at all.
  function verdict(data, choice, mask) {
    const said = saying(data, choice, mask);
    return said && isForbidden(choice, mask) ? said + " " + data.not_allowed : said;
  }

  function saying(data, choice, mask) {
    const output = outputOf(choice, mask);
    const count = choice.moves.length;
    const made = keysOf(choice.moves, mask).size;
    const start = countWords(made, count);
    if (!output) return "";
    const now = told(data, output);
    if (data.kind !== "class") return start + " the model says " + now.text + ".";
    if (made === count) return start + " the model says " + now.text + ".";
    const same = output.column === data.before.column;
    if (made === 0) return start + " it is " + now.text + ".";
    if (same) return start + " it is still " + now.text + ".";
    // Where one class is asked for, another is not yet an answer.
    const wanted = data.target ?? output.column;
    if (output.column === wanted) return start + " it is already " + now.text + ".";
    return start + " it is " + now.text + ", but not the wanted " + data.names[wanted] + ".";
  }

  // What remains when one edit of all is taken back.
  function withoutOne(data, choice, bit) {
    const mask = full(choice) & ~(1 << bit);
    const output = choice.table && choice.table[mask];
    if (!output) return "";
    const same = data.kind === "class" && output.column === data.before.column;
    const allowed = isForbidden(choice, mask) ? ", not allowed by the constraints" : "";
    return "Without it: " + (same ? "still " : "") + told(data, output).text + allowed;
  }

  // A row of the table as the page keeps it: [column, its value, values of the shown columns …], and the
  // figures that are written for them; a row without a figure of its own has its column among the shown.
  function unpacked(data, row, figures) {
    if (!row) return null;
    const place = data.columns.indexOf(row[0]);
    const top = figures[data.columns.length] ?? figures[place];
    return { column: row[0], name: data.names[row[0]] || "", top, figures, shares: row.slice(2) };
  }

  // How long a bar is; what is written as .00 has none.
  const shareOf = (output, place) => (/[1-9]/.test(output.figures[place]) ? output.shares[place] : 0);

  function read(text) {
    const data = JSON.parse(text);
    data.before = unpacked(data, data.before, data.figures);
    for (const choice of data.choices) {
      choice.output = unpacked(data, choice.output, choice.figures[0]);
      choice.table = choice.table && choice.table.map((row, part) => unpacked(data, row, choice.figures[part + 1]));
    }
    return data;
  }

  function run(document) {
    const data = read(document.getElementById("data").textContent);
    const find = (selector, within) => (within || document).querySelector(selector);
    const all = (selector, within) => Array.from((within || document).querySelectorAll(selector));
    const words = (element, name) => (element.dataset[name] || "").split(" ").filter(Boolean);
    const changing = all("[data-all],[data-any],[data-none]").map((element) => ({
      element, view: element.closest("[data-view]"),
      all: words(element, "all"), any: words(element, "any"), none: words(element, "none"),
    }));
    let current = 0;
    let mask = data.choices.length ? full(data.choices[0]) : 0;

    function make(tag, css, text) {
      const element = document.createElement(tag);
      if (css) element.className = css;
      if (text !== undefined) element.textContent = text;
      return element;
    }

    function paint() {
      const choice = data.choices[current];
      const made = keysOf(choice.moves, mask);
      for (const entry of changing) {
        const away = entry.view && entry.view.hasAttribute("hidden");
        entry.element.toggleAttribute("hidden", away || !holds(entry.all, entry.any, entry.none, made));
      }
      const output = outputOf(choice, mask);
      if (!output) return;
      const now = told(data, output);
      find("#after").textContent = (now.name + " " + now.number).trim();
      data.columns.forEach((column, place) => {
        find("#value-" + place).textContent = output.figures[place];
        const bar = find("#bar-" + place);
        if (bar) bar.style.setProperty("--share", shareOf(output, place));
        find("#name-" + place).classList.toggle("wins", data.kind === "class" && column === output.column);
      });
      find("#verdict").textContent = choice.table ? verdict(data, choice, mask) : "";
    }

    function headline(choice) {
      const heading = find("h1");
      heading.replaceChildren(...choice.headline.map(([text, kind]) => {
        const whole = text.length <= 24 ? " whole" : "";
        return kind ? make("span", kind + whole, text) : document.createTextNode(text);
      }));
      document.title = heading.textContent;
    }

    function toggle(move, choice) {
      const item = make("li");
      const button = make("button", "toggle is-" + move.kind);
      button.type = "button";
      button.dataset.bit = move.bit;
      button.setAttribute("aria-pressed", "true");
      button.disabled = !choice.table;
      const sign = make("span", "sign", move.kind === "added" ? "+" : "−");
      sign.setAttribute("aria-hidden", "true");
      const name = make("span", "name");
      name.append(make("span", "sr", move.kind + " " + data.noun + " "), move.name);
      button.append(sign, name, make("small", "", "on"));
      item.append(button);
      const rest = withoutOne(data, choice, move.bit);
      if (rest) item.append(make("p", "without", rest));
      return item;
    }

    // Where the keyboard was: on which edit, or on the list.
    function focused() {
      const active = document.activeElement;
      const edit = all("#edits button").indexOf(active);
      return { edit, listed: Boolean(active && active.closest(".pick")) };
    }

    // The same control of another counterfactual; edits that cannot be pressed leave it to the list.
    function refocus(was) {
      const edits = all("#edits button");
      if (was.edit >= 0 && !edits[0]?.disabled) edits[Math.min(was.edit, edits.length - 1)]?.focus();
      const lost = was.edit >= 0 && document.activeElement === document.body;
      if (!was.listed && !lost) return;
      const pick = find('.pick[data-choice="' + current + '"]');
      const folded = pick.closest("details:not([open])");
      (folded ? find("summary", folded) : pick).focus();
    }

    function choose(index) {
      const was = focused();
      current = index;
      const choice = data.choices[index];
      mask = full(choice);
      headline(choice);
      for (const view of all("[data-view]")) {
        view.toggleAttribute("hidden", !words(view, "view").includes(String(index)));
      }
      find("#edits").replaceChildren(...choice.moves.map((move) => toggle(move, choice)));
      find("#proof").textContent = choice.proof;
      find("#why").textContent = choice.why || "";
      find("#why").toggleAttribute("hidden", !choice.why);
      find("#unjudged").textContent = choice.unjudged || "";
      find("#unjudged").toggleAttribute("hidden", !choice.unjudged);
      for (const row of all("tr[data-group]")) {
        const inside = row.dataset.group.split(" ").includes(String(index));
        if (inside) row.setAttribute("aria-current", "true");
        else row.removeAttribute("aria-current");
      }
      for (const pick of all(".pick")) pick.setAttribute("aria-pressed", String(Number(pick.dataset.choice) === index));
      paint();
      refocus(was);
    }

    document.addEventListener("click", (event) => {
      const pick = event.target.closest(".pick");
      if (pick) choose(Number(pick.dataset.choice));
      const button = event.target.closest(".toggle");
      if (!button || button.disabled) return;
      mask ^= 1 << Number(button.dataset.bit);
      const on = Boolean((mask >> Number(button.dataset.bit)) & 1);
      button.setAttribute("aria-pressed", String(on));
      find("small", button).textContent = on ? "on" : "off";
      paint();
    });

    document.addEventListener("keydown", (event) => {
      if (event.altKey || event.ctrlKey || event.metaKey || data.choices.length < 2) return;
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step || event.target.closest("input,select,textarea")) return;
      event.preventDefault();
      choose((current + step + data.choices.length) % data.choices.length);
    });
  }

  return { holds, keysOf, outputOf, shareOf, verdict, withoutOne, read, run };
});
