// Going back in time: the slider asks the history, and everything on the map is of that moment.

import { get, valueOf } from "/-/page/api.js";

const WINDOW_S = 8;
const SETTLE_MS = 120;
const TICK_MS = 1000;
const $ = (id) => document.getElementById(id);

export class History {
  /** `onTime` is told of the moment that is shown (milliseconds), or null: live. */
  constructor(view, { things, selection, onTime }) {
    Object.assign(this, { view, things, selection, onTime });
    this.moment = null;
    $("time-card").hidden = !view.history;
    $("query").hidden = !view.history;
    $("query").addEventListener("click", () => this.ask());
    $("time").addEventListener("input", () => {
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.slide(), SETTLE_MS);
    });
    $("now").addEventListener("click", () => this.live());
    $("play").addEventListener("click", () => this.play());
    if (view.history) {
      this.measure();
      setInterval(() => this.measure(), 30_000);
    }
  }

  get past() {
    return this.moment !== null;
  }

  /** The slider reaches back to the first message that is recorded, and no further. */
  async measure() {
    const first = await this.replies({ _time: "[..]", _limit: 1 }).catch(() => []);
    const times = first.map((sample) => Date.parse(sample.timestamp)).filter(Number.isFinite);
    if (times.length === 0) return;
    this.since = Math.min(...times);
    this.fit();
  }

  fit() {
    if (this.since === undefined) return;
    $("time").min = Math.min(-1, Math.floor((this.since - Date.now()) / 1000));
    if (this.past) $("time").value = Math.round((this.moment - Date.now()) / 1000);
  }

  /** Zenoh's way to write a span of time that ends at a moment. */
  span(moment, seconds) {
    return `[${new Date(moment - seconds * 1000).toISOString()}..${new Date(moment).toISOString()}]`;
  }

  async replies(asked) {
    const answers = await Promise.all(
      this.view.topics.map((topic) => get(topic, { ...this.selection.parameters, timeout: 5, ...asked })),
    );
    return answers.flat();
  }

  slide() {
    const seconds = Number($("time").value);
    return seconds === 0 ? this.live() : this.go(Date.now() + seconds * 1000);
  }

  /** Show the last message of each thing before a moment, and nothing that came after it. */
  async go(moment) {
    this.moment = moment;
    this.onTime(moment);
    $("now").setAttribute("aria-pressed", "false");
    this.fit();
    const number = (this.number = (this.number ?? 0) + 1);
    const shown = new Date(moment).toLocaleString();
    $("time-text").textContent = `${shown} …`;
    try {
      const samples = await this.replies({ _time: this.span(moment, WINDOW_S) });
      if (number !== this.number || !this.past) return;
      this.things.clear();
      samples.filter((sample) => sample.key !== "ERROR")
        .sort((a, b) => (a.timestamp ?? "").localeCompare(b.timestamp ?? ""))
        .forEach((sample) => this.things.take(sample));
      $("time-text").textContent = `${shown}: ${samples.length} messages in ${WINDOW_S} s`;
    } catch (error) {
      $("time-text").textContent = error.message;
    }
  }

  live() {
    this.stop();
    this.moment = null;
    this.number = (this.number ?? 0) + 1;
    $("time").value = 0;
    $("now").setAttribute("aria-pressed", "true");
    $("time-text").textContent = "Live";
    this.things.clear();
    this.onTime(null);
  }

  /** From where the slider stands (or the beginning) up to now, then live. */
  play() {
    if (this.playing) return this.stop();
    $("play").setAttribute("aria-pressed", "true");
    if (!this.past) this.go(this.since ?? Date.now() - 600_000);
    this.playing = setInterval(() => {
      const next = this.moment + TICK_MS * Number($("speed").value);
      if (next >= Date.now()) this.live();
      else this.go(next);
    }, TICK_MS);
    return undefined;
  }

  stop() {
    clearInterval(this.playing);
    this.playing = null;
    $("play").setAttribute("aria-pressed", "false");
  }

  /** The button: how many messages does the history have of this area? */
  async ask() {
    $("answer").textContent = "Asking …";
    try {
      const samples = await this.replies({ _time: "[now(-10m)..]" });
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
