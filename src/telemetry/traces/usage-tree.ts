import type { SpanRecord } from './span-record';

// The measures that a span reports, or that spans below it report, as bits.
const INPUT = 1;
const OUTPUT = 2;
const COST = 4;
/** The cost of a step is only the price of its tokens. It says nothing about the calls below it. */
const ESTIMATED = 8;
/** A step below has an estimated cost. */
const ESTIMATE = 16;

/** Spans with tokens but without a known cost. */
export interface UnpricedSpans {
  calls: number;
  steps: number;
}

/** What a span knows about the spans below it. Only spans that report usage store it. */
export interface UsageState {
  /** The measures that spans below report, ESTIMATED and ESTIMATE. */
  flags: number;
  /** The unpriced spans below whose nearest span with a cost is this one. Its cost includes theirs. */
  unpriced: Readonly<UnpricedSpans>;
  /**
   * The estimated costs below that count, and whose nearest span with another cost is this one. Its cost counts only without
   * any. Unlike a flag, they end when a span below such a step reports tokens.
   */
  estimates: number;
}

/** A stored span above new spans. */
export interface UsageAncestor extends UsageState {
  spanId: string;
  parentSpanId: string | null;
  isStep: boolean;
  model: string | null;
  inputTokens: number | null;
  outputTokens: number | null;
  costUsd: number | null;
}

/** What is known about the spans below a parent that has not arrived. */
export interface UsageGap extends UsageState {
  /** The missing parent. */
  spanId: string;
}

/** A change of the usage that counts: of one span, by its model and kind. */
export interface UsageChange {
  model: string | null;
  isStep: boolean;
  inputTokens: number | null;
  outputTokens: number | null;
  costUsd: number | null;
  /** 1 for a span whose tokens count and have no price, and -1 if such a span no longer counts. */
  unpriced: number;
}

/** The effect of new spans on the usage of their trace. */
export interface UsageEffect {
  changes: UsageChange[];
  /** The unpriced spans that the cost of another span newly includes; negative if it no longer does. */
  covered: UnpricedSpans;
  /** The spans whose state has changed, by id. */
  states: Map<string, UsageState>;
  gaps: UsageGap[];
}

type Usage = Pick<UsageAncestor, 'inputTokens' | 'outputTokens' | 'costUsd'>;

interface Node extends UsageAncestor {
  isNew: boolean;
  reports: number;
  before: UsageState;
}

const NO_EFFECT: UsageEffect = { changes: [], covered: { calls: 0, steps: 0 }, states: new Map(), gaps: [] };

/** Returns whether a span reports usage. */
export const reportsUsage = ({ fields, costUsd }: SpanRecord): boolean =>
  (fields.inputTokens ?? fields.outputTokens ?? costUsd) !== null;

/**
 * Returns which usage of new spans counts. The tokens of a span count unless a span below it reports tokens, and likewise its
 * cost; an estimated cost of a step hides a cost above it only while it counts itself. So a call inside a call counts once, and a step does not repeat the calls below it. The effect does not depend on the
 * order in which spans arrive: each span with usage stores which measures are reported below it, and a gap stores it for a
 * parent that is still missing.
 *
 * @param records new spans of one trace
 * @param ancestors the stored spans above them
 * @param gaps the gaps that the new spans close
 */
export function usageEffect(
  records: readonly SpanRecord[],
  ancestors: readonly UsageAncestor[] = [],
  gaps: readonly UsageGap[] = [],
): UsageEffect {
  if (gaps.length === 0 && !records.some(reportsUsage)) return NO_EFFECT;
  return new UsageTree(records, ancestors).effect(gaps);
}

class UsageTree {
  /** The spans with usage, and those above them. Most spans are neither. */
  private readonly nodes = new Map<string, Node>();
  private readonly records = new Map<string, SpanRecord>();
  private readonly gaps = new Map<string, UsageGap>();
  private readonly holders = new Map<string, string | null>();

  constructor(records: readonly SpanRecord[], ancestors: readonly UsageAncestor[]) {
    for (const ancestor of ancestors) this.nodes.set(ancestor.spanId, storedNode(ancestor));
    for (const record of records) {
      if (reportsUsage(record)) this.nodes.set(record.span.spanId, newNode(record));
      else this.records.set(record.span.spanId, record);
    }
  }

  effect(closed: readonly UsageGap[]): UsageEffect {
    for (const { spanId, flags } of closed) this.report(spanId, flags);
    for (const { isNew, reports, parentSpanId } of [...this.nodes.values()]) {
      if (isNew && reports !== 0) this.report(parentSpanId, reports);
    }
    for (const { spanId, unpriced, estimates } of closed) this.hold(spanId, unpriced, estimates);
    for (const node of this.nodes.values()) if (node.reports !== 0) this.holdChanges(node);
    return this.changes();
  }

  /** Returns a span; undefined if it is missing. */
  private nodeAt(spanId: string): Node | undefined {
    const node = this.nodes.get(spanId);
    if (node) return node;
    const record = this.records.get(spanId);
    if (!record) return undefined;
    const created = newNode(record);
    this.nodes.set(spanId, created);
    return created;
  }

  /** Tells a span, and all spans above it, what is reported below. Stops where the spans above already know. */
  private report(from: string | null, bits: number): void {
    for (let id = from; id !== null;) {
      const node = this.nodeAt(id);
      if (!node) {
        this.gapAt(id).flags |= bits;
        return;
      }
      const told = node.flags | node.reports;
      const known = (told & COST) === 0 ? told : told | ESTIMATE; // an estimate tells nothing more
      node.flags |= bits;
      if ((bits & ~known) === 0) return;
      id = node.parentSpanId;
    }
  }

  private gapAt(spanId: string): UsageGap {
    let gap = this.gaps.get(spanId);
    if (!gap) this.gaps.set(spanId, (gap = { ...UNTOLD, spanId }));
    return gap;
  }

  private holdChanges(node: Node): void {
    const { flags, before, isNew, isStep } = node;
    const unpriced = unpricedIn(node, flags) - (isNew ? 0 : unpricedIn(node, before.flags));
    const estimates = estimatesIn(flags) - (isNew ? 0 : estimatesIn(before.flags));
    this.hold(
      node.parentSpanId,
      isStep ? { calls: 0, steps: unpriced } : { calls: unpriced, steps: 0 },
      estimates,
    );
  }

  /** Adds unpriced spans and estimates to the nearest span with a cost that is no estimate, or to the gap below it. */
  private hold(from: string | null, { calls, steps }: UnpricedSpans, estimates: number): void {
    if (calls === 0 && steps === 0 && estimates === 0) return;
    const holder = this.holderAt(from);
    if (holder === null) return;
    const state = this.nodeAt(holder) ?? this.gapAt(holder);
    state.unpriced = { calls: state.unpriced.calls + calls, steps: state.unpriced.steps + steps };
    state.estimates += estimates;
  }

  /** Returns the id of the nearest span with a cost that is no estimate, or of the missing parent below it; null if there is none. */
  private holderAt(from: string | null): string | null {
    const path: string[] = [];
    let holder: string | null = null;
    for (let id = from; id !== null;) {
      const known = this.holders.get(id);
      const node = this.nodeAt(id);
      if (known !== undefined || !node) {
        holder = known === undefined ? id : known;
        break;
      }
      if ((node.flags & COST) !== 0) break; // neither its cost nor that of a span further up counts
      if (coversCost(node)) {
        holder = id;
        break;
      }
      this.holders.set(id, null); // ends a cycle of parents
      path.push(id);
      id = node.parentSpanId;
    }
    for (const id of path) this.holders.set(id, holder);
    return holder;
  }

  private changes(): UsageEffect {
    const effect: UsageEffect = {
      changes: [],
      covered: { calls: 0, steps: 0 },
      states: new Map(),
      gaps: [...this.gaps.values()].sort((one, other) => (one.spanId < other.spanId ? -1 : 1)),
    };
    for (const node of this.nodes.values()) {
      if (node.reports === 0 && !(node.isNew && hasUsage(node))) continue;
      const hasChanged = differs(node, node.before);
      if (node.isNew || hasChanged) addChange(effect, node);
      if (hasChanged || node.flags !== 0) {
        effect.states.set(node.spanId, {
          flags: node.flags,
          unpriced: node.unpriced,
          estimates: node.estimates,
        });
      }
    }
    return effect;
  }
}

export const differs = (one: UsageState, other: UsageState): boolean =>
  one.flags !== other.flags ||
  one.estimates !== other.estimates ||
  one.unpriced.calls !== other.unpriced.calls ||
  one.unpriced.steps !== other.unpriced.steps;

const NONE: UnpricedSpans = { calls: 0, steps: 0 };
const UNTOLD: UsageState = { flags: 0, unpriced: NONE, estimates: 0 };

const storedNode = (ancestor: UsageAncestor): Node => ({
  ...ancestor,
  isNew: false,
  reports: reportedBy(ancestor, ancestor.flags),
  before: ancestor,
});

function newNode({ span, fields, costUsd, isStep }: SpanRecord): Node {
  const { inputTokens, outputTokens } = fields;
  const flags = isStep && costUsd !== null && fields.costUsd === null ? ESTIMATED : 0;
  return {
    ...UNTOLD,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId === span.spanId ? null : span.parentSpanId,
    isStep,
    model: fields.model,
    inputTokens,
    outputTokens,
    costUsd,
    flags,
    isNew: true,
    reports: reportedBy({ inputTokens, outputTokens, costUsd }, flags),
    before: UNTOLD,
  };
}

const hasUsage = ({ inputTokens, outputTokens, costUsd }: Usage): boolean =>
  (inputTokens ?? outputTokens ?? costUsd) !== null;

/** No tokens are no report: instrumentations send 0 if they do not know. A cost of 0 is one if there are tokens. */
function reportedBy({ inputTokens, outputTokens, costUsd }: Usage, flags: number): number {
  const tokens = (inputTokens ? INPUT : 0) | (outputTokens ? OUTPUT : 0);
  if (costUsd === null || (costUsd === 0 && tokens === 0)) return tokens;
  return tokens | ((flags & ESTIMATED) === 0 ? COST : ESTIMATE);
}

/** Whether a span has a cost that includes the calls below it. */
const coversCost = ({ reports }: Node): boolean => (reports & COST) !== 0;

function countsCost({ costUsd }: Usage, { flags, estimates }: UsageState): boolean {
  if (costUsd === null || (flags & COST) !== 0) return false;
  return (flags & ESTIMATED) === 0 ? estimates === 0 : (flags & (INPUT | OUTPUT)) === 0;
}

/** Returns 1 if the cost of a span is an estimate, and counts. */
const estimatesIn = (flags: number): number =>
  (flags & ESTIMATED) !== 0 && (flags & (INPUT | OUTPUT | COST)) === 0 ? 1 : 0;

/** Returns 1 if the tokens of a span count, and neither it nor a span below it has a cost. */
function unpricedIn({ inputTokens, outputTokens, costUsd }: Usage, flags: number): number {
  if (costUsd !== null || (flags & (COST | ESTIMATE)) !== 0) return 0;
  return (inputTokens && (flags & INPUT) === 0) || (outputTokens && (flags & OUTPUT) === 0) ? 1 : 0;
}

function addChange({ changes, covered }: UsageEffect, node: Node): void {
  const { model, isStep, before, isNew } = node;
  const after = countedUsage(node, node);
  const earlier = isNew ? NOTHING : countedUsage(node, before);
  changes.push({
    model,
    isStep,
    inputTokens: difference(after.inputTokens, earlier.inputTokens),
    outputTokens: difference(after.outputTokens, earlier.outputTokens),
    costUsd: difference(after.costUsd, earlier.costUsd),
    unpriced: after.unpriced - earlier.unpriced,
  });
  if (!coversCost(node)) return;
  const [now, then] = [after.costUsd === null ? 0 : 1, earlier.costUsd === null ? 0 : 1];
  covered.calls += now * node.unpriced.calls - then * before.unpriced.calls;
  covered.steps += now * node.unpriced.steps - then * before.unpriced.steps;
}

type CountedUsage = Omit<UsageChange, 'model' | 'isStep'>;

const NOTHING: CountedUsage = { inputTokens: null, outputTokens: null, costUsd: null, unpriced: 0 };

const countedUsage = (usage: Usage, state: UsageState): CountedUsage => ({
  inputTokens: (state.flags & INPUT) === 0 ? usage.inputTokens : null,
  outputTokens: (state.flags & OUTPUT) === 0 ? usage.outputTokens : null,
  costUsd: countsCost(usage, state) ? usage.costUsd : null,
  unpriced: unpricedIn(usage, state.flags),
});

/** Returns a change of a sum; null if the span neither adds to it nor has added to it. */
const difference = (after: number | null, before: number | null): number | null =>
  after === before ? (before === null ? null : 0) : (after ?? 0) - (before ?? 0);
