// What the browser's own types leave open for the scripts of the dashboard: elements are found by their ids, so
// that which kind one is stands in the page alone.

interface HTMLElement {
  value: any;
  max: number;
  checked: boolean;
  disabled: boolean;
  open: boolean;
  close(): void;
  showModal(): void;
  drawing?: SVGElement;
}

interface Element {
  focus(): void;
  click(): void;
  cellIndex: number;
  disabled: boolean;
  tabIndex: number;
}

interface EventTarget {
  id: string;
  closest(selectors: string): Element | null;
  matches?(selectors: string): boolean;
  querySelector(selectors: string): Element | null;
  drawing?: SVGElement;
}

interface Event {
  detail: any;
}

interface Window {
  fedfast: any;
}

declare const uPlot: any;

interface Curves {
  root: HTMLElement;
  card: HTMLElement;
  onLight(number: number): void;
  onPick(number: number): void;
  smoothing: number;
  by: string;
  best: number;
  scale: any;
  share: boolean;
  trials(): any[];
}
