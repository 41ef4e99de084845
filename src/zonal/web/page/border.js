// Events at the border of the area: who comes, goes, or stays for long.

import { subscribe } from "/-/page/api.js";

const MOST = 50;
const SILENT_S = 120; // who is not heard of for so long has left
const KINDS = { enter: "came in", leave: "left", dwell: "has stayed", silence: "fell silent" };
const $ = (id) => document.getElementById(id);

export class Border {
  /** `onPlace` is told where an event was, when it is chosen in the list. */
  constructor(view, { selection, onPlace, onChange }) {
    Object.assign(this, { view, selection, onPlace, onChange });
    this.ends = [];
    $("border").addEventListener("change", () => { this.listen(); this.onChange(); });
    $("dwell").addEventListener("change", () => this.listen());
  }

  get isOn() {
    return $("border").checked;
  }

  /** The area is another one, or the choice: a new list. */
  listen() {
    this.ends.splice(0).forEach((end) => end());
    const { area, parameters } = this.selection;
    $("border-card").hidden = !area;
    $("border-events").replaceChildren();
    this.tell();
    if (!area || !this.isOn) return;
    const seconds = Math.max(1, Number($("dwell").value) || 60);
    const asked = { ...parameters, detect: `enter,leave,dwell:${seconds}s,silence:${Math.max(SILENT_S, 2 * seconds)}s`, thing: "id" };
    const on = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, (event) => this.take(event)]));
    this.ends = this.view.topics.map((topic) => subscribe(topic, asked, on));
  }

  take(event) {
    const { event: kind, thing, at, since, location } = event;
    const item = document.createElement("li");
    const button = Object.assign(document.createElement("button"), { type: "button", className: kind });
    const small = document.createElement("small");
    const stayed = kind === "dwell" && since ? ` since ${timeOf(since)}` : "";
    small.textContent = timeOf(at);
    button.append(`${thing.split("/").at(-1)} ${KINDS[kind]}${stayed}`, small);
    if (location) button.addEventListener("click", () => this.onPlace([location.long, location.lat]));
    item.append(button);
    $("border-events").prepend(item);
    while ($("border-events").children.length > MOST) $("border-events").lastElementChild.remove();
    this.tell();
  }

  tell() {
    const isEmpty = $("border-events").children.length === 0;
    $("no-border-events").hidden = !isEmpty;
    $("no-border-events").textContent = this.isOn ? "Nobody has come or gone so far." : "Who comes, goes, or stays for long.";
  }
}

const timeOf = (text) => new Date(text).toLocaleTimeString();
