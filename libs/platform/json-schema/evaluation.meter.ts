import type { EvaluationCost } from './schema.normalizer';

/** Thrown where a value costs more to validate than is allowed. */
export class TooCostly extends Error {
  override name = 'TooCostly';
}

/**
 * Counts what a validation costs and breaks it off beyond a limit.
 *
 * A small schema can cost without end: a chain of definitions that each refer to the next one twice doubles the work
 * with every link. One unit is about 50 ns.
 */
export class EvaluationMeter {
  private left = 0;
  private counted: object | undefined;
  private count = 0;

  /** Begins a validation that may cost `units`. */
  start(units: number): void {
    this.left = units;
    this.counted = undefined;
  }

  /** @throws TooCostly when the limit is passed */
  spend(units: number): void {
    this.left -= units;
    if (this.left < 0) throw new TooCostly();
  }

  /** Spends what it costs to evaluate one subschema on `value`. */
  spendOn(value: unknown, cost: EvaluationCost): void {
    let units = cost.base;
    if (typeof value === 'string') units += cost.perCharacter * value.length;
    else if (cost.perMember > 0 && typeof value === 'object' && value !== null) {
      units += cost.perMember * this.membersOf(value);
    }
    this.spend(units);
  }

  /** Counting members takes time too: an object that many subschemas look at is counted once. */
  private membersOf(value: object): number {
    if (value !== this.counted) {
      this.counted = value;
      this.count = Object.keys(value).length;
    }
    return this.count;
  }
}
