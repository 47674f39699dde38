import { OtlpDecodeError, type OtlpResource, type OtlpScope } from '#otlp';

/**
 * What an export may come to, in characters of JSON, by what it tells once and is stored again and again: a resource for
 * each of its scopes, what a metric is for each of its points. Without a bound a few bytes, the more so compressed ones,
 * would be gigabytes. Exporters come to some kilobytes.
 */
export const REPEATED_MAX = 16 * 1024 * 1024;

/** Adds up what of one export is stored more often than it is sent. */
export class RepeatedBytes {
  private readonly sizes = new Map<object, number>();
  /** In characters of JSON. */
  total = 0;

  /**
   * @param part told once, and stored once more
   * @throws OtlpDecodeError when all of them come to too much
   */
  add(part: object, textOf: (part: never) => string = JSON.stringify): void {
    let size = this.sizes.get(part);
    if (size === undefined) this.sizes.set(part, (size = textOf(part as never).length));
    this.total += size;
    if (this.total > REPEATED_MAX) {
      throw new OtlpDecodeError(
        `The export comes to more than ${REPEATED_MAX} characters by repeating its resources for their scopes, or its metrics for their points; send smaller batches.`,
      );
    }
  }

  /** Adds the resource and scope of records: they are stored once for each scope. */
  addSources(records: Iterable<{ resource: OtlpResource; scope: OtlpScope }>): void {
    const scopes = new Set<OtlpScope>();
    for (const { resource, scope } of records) {
      if (scopes.has(scope)) continue;
      scopes.add(scope);
      this.add(resource);
      this.add(scope);
    }
  }
}
