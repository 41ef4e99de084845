// Going back in time: the slider asks the history, the map shows what it answers.

import { get, valueOf } from "/-/page/api.js";

const WINDOW_S = 8;
const SETTLE_MS = 120;
const $ = (id) => document.getElementById(id);

export class History {
  constructor(view, { things, selection, onPast }) {
    Object.assign(this, { view, things, selection, onPast });
    this.past = false;
    $("time-card").hidden = !view.history;
    $("query").addEventListener("click", () => this.ask());
    $("time").addEventListener("input", () => {
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.go(), SETTLE_MS);
    });
    $("now").addEventListener("click", () => this.live());
  }

  /** Zenoh's way to write a span of time that ends `seconds` ago. */
  span(seconds, length) {
    const at = (s) => new Date(Date.now() - s * 1000).toISOString();
    return `[${at(seconds + length)}..${at(seconds)}]`;
  }

  async replies(asked) {
    const answers = await Promise.all(
      this.view.topics.map((topic) => get(topic, { ...this.selection.parameters, timeout: 5, ...asked })),
    );
    return answers.flat();
  }

  /** The slider stands in the past: show the last message of each thing before that moment. */
  async go() {
    const seconds = -Number($("time").value);
    if (seconds === 0) return this.live();
    this.past = true;
    this.onPast(true);
    $("now").setAttribute("aria-pressed", "false");
    const number = (this.number = (this.number ?? 0) + 1);
    $("time-text").textContent = `${seconds} s ago …`;
    try {
      const samples = await this.replies({ _time: this.span(seconds, WINDOW_S) });
      if (number !== this.number || !this.past) return undefined;
      this.things.clear();
      samples.filter((sample) => sample.key !== "ERROR")
        .sort((a, b) => (a.timestamp ?? "").localeCompare(b.timestamp ?? ""))
        .forEach((sample) => this.things.take(sample));
      $("time-text").textContent = `${new Date(Date.now() - seconds * 1000).toLocaleTimeString()}: ${samples.length} messages in ${WINDOW_S} s`;
    } catch (error) {
      $("time-text").textContent = error.message;
    }
    return undefined;
  }

  live() {
    this.past = false;
    $("time").value = 0;
    $("now").setAttribute("aria-pressed", "true");
    $("time-text").textContent = "Live";
    this.things.clear();
    this.onPast(false);
  }

  /** The button: how many messages does the history have of this area? */
  async ask() {
    $("answer").textContent = "Asking …";
    try {
      const samples = await this.replies(this.view.history ? { _time: "[now(-10m)..]" } : {});
      const errors = samples.filter((sample) => sample.key === "ERROR");
      const values = samples.map((sample) => Number(valueOf(sample)?.[this.view.value])).filter(Number.isFinite);
      const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
      const text = `${samples.length - errors.length} replies`;
      const about = values.length ? `, mean ${this.view.value} ${mean.toFixed(1)} ${this.view.unit}` : "";
      $("answer").textContent = text + about + (errors.length ? `, ${errors.length} errors` : "");
    } catch (error) {
      $("answer").textContent = error.message;
    }
  }
}
