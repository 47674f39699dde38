import type { RE2JS } from 're2js';

type Engine = ReturnType<RE2JS['re2']>;

/** Maximum memory of the states that a pattern caches, in bytes. */
const STATES_BYTES = 256 * 1024;

/** Steps that building a state of the automaton costs, for each instruction of the pattern. */
const STATE_STEPS = 8;

const UNANCHORED = 0;
const END_OF_TEXT = -8;
const EMPTY = { beginLine: 1, endLine: 2, beginText: 4, endText: 8, wordBoundary: 16, noWordBoundary: 32 };
const LINE_FEED = 10;

/** The steps that a search may still take. One step takes some 10 ns. */
export interface StepBudget {
  left: number;
}

/** Receives the place of a match. */
type OnMatch = (start: number, end: number) => void;

class Exhausted extends Error {}

/** Looks for literals that every match contains. */
interface Prefilter {
  eval(input: CountedText, position: number): boolean;
}

/**
 * Finds the matches of a pattern in texts, within a budget of steps. A search for all matches can be quadratic even without
 * backtracking, because each match may look ahead to the end of the text.
 */
export class MatchFinder {
  constructor(
    private readonly engine: Engine,
    private readonly programSize: number,
  ) {
    const { dfa } = engine;
    dfa.stateBudget = dfa.memBudget = STATES_BYTES;
  }

  /**
   * Begins a search that calls `onMatch` for each match that is not empty, from left to right. Matches do not overlap.
   *
   * @returns what continues the search, at least up to a position. It returns false if the budget is exhausted before
   */
  search(text: string, budget: StepBudget, onMatch: OnMatch): (to: number) => boolean {
    const input = new CountedText(text, budget);
    let from = -1;
    const searchTo = (to: number): void => {
      if (from < 0) {
        from = this.mayMatch(input) ? 0 : text.length;
        input.cost = this.programSize;
      }
      while (from < Math.min(to, text.length)) {
        const found = this.engine.doExecuteNFA(input, from, UNANCHORED, 2) as [number, number] | null;
        if (!found) {
          from = text.length;
          return;
        }
        const [start, end] = found;
        if (end > start) onMatch(start, end);
        from = end > start ? end : end + Math.max(1, input.step(end) & 7);
      }
    };
    return (to) => {
      if (from >= text.length) return true;
      if (budget.left <= 0) return false;
      try {
        searchTo(to);
        return true;
      } catch (error) {
        if (error instanceof Exhausted) return false;
        throw error;
      }
    };
  }

  /** Returns false if the text has no match. Uses the engine's automaton, which takes one step per character. */
  private mayMatch(input: CountedText): boolean {
    const { dfa } = this.engine;
    const prefilter = this.engine.prefilter as Prefilter | null;
    if (prefilter !== null && !prefilter.eval(input, 0)) return false;
    const before = dfa.stateCount;
    const matches = dfa.match(input, 0, UNANCHORED) as boolean | null;
    const built = dfa.stateCount < before ? dfa.stateCount : dfa.stateCount - before;
    input.charge(built * this.programSize * STATE_STEPS);
    return matches !== false;
  }
}

/** A text in the form that the engine reads, which counts its steps. */
class CountedText {
  /** The steps that reading a character takes. */
  cost = 1;

  constructor(
    private readonly text: string,
    private readonly budget: StepBudget,
  ) {}

  charge(steps: number): void {
    this.budget.left -= steps;
    if (this.budget.left < 0) throw new Exhausted();
  }

  /** Returns the code point at a position, shifted by three bits, and its width. */
  step(position: number): number {
    this.charge(this.cost);
    if (position >= this.text.length) return END_OF_TEXT;
    const rune = this.text.codePointAt(position)!;
    return (rune << 3) | (rune > 0xffff ? 2 : 1);
  }

  /** Returns the conditions that a position meets, such as the end of a word. */
  context(position: number): number {
    const before = position > 0 ? this.text.charCodeAt(position - 1) : -1;
    const after = position < this.text.length ? this.text.charCodeAt(position) : -1;
    return (
      (before < 0 ? EMPTY.beginText | EMPTY.beginLine : before === LINE_FEED ? EMPTY.beginLine : 0) |
      (after < 0 ? EMPTY.endText | EMPTY.endLine : after === LINE_FEED ? EMPTY.endLine : 0) |
      (isWord(before) === isWord(after) ? EMPTY.noWordBoundary : EMPTY.wordBoundary)
    );
  }

  endPos(): number {
    return this.text.length;
  }

  canCheckPrefix(): boolean {
    return true;
  }

  /** Returns the distance to the next occurrence of the literal with which every match begins, or -1. */
  index({ prefix }: { prefix: string }, position: number): number {
    const found = this.text.indexOf(prefix, position);
    return found < 0 ? -1 : found - position;
  }

  hasString({ str }: { str: string }, position: number): boolean {
    return this.text.includes(str, position);
  }

  hasAnyString(words: { subs: readonly { str: string }[] }, position: number): boolean {
    return words.subs.some(({ str }) => this.text.includes(str, position));
  }
}

const isWord = (unit: number): boolean =>
  (unit >= 48 && unit <= 57) || (unit >= 65 && unit <= 90) || unit === 95 || (unit >= 97 && unit <= 122);
