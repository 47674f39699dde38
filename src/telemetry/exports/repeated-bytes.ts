import { OtlpDecodeError, type OtlpResource, type OtlpScope } from '#otlp';

/**
 * Limit of the parts of an export that are sent once and stored repeatedly, in characters of JSON: a resource for each of
 * its scopes, a metric for each of its points. Without a limit, a few compressed bytes would become gigabytes. Exporters
 * send some kilobytes.
 */
export const REPEATED_MAX = 16 * 1024 * 1024;

/** Adds up the parts of one export that are stored more often than sent. */
export class RepeatedBytes {
  private readonly sizes = new Map<object, number>();
  /** In characters of JSON. */
  total = 0;

  /**
   * @param part sent once, and stored once more
   * @throws OtlpDecodeError when the sum exceeds REPEATED_MAX
   */
  add(part: object, textOf: (part: never) => string = JSON.stringify): void {
    let size = this.sizes.get(part);
    if (size === undefined) this.sizes.set(part, (size = textOf(part as never).length));
    this.total += size;
    if (this.total > REPEATED_MAX) {
      throw new OtlpDecodeError(
        `The export exceeds ${REPEATED_MAX} characters when its resources are repeated for their scopes and its metrics for their points. Send smaller batches.`,
      );
    }
  }

  /** Adds the resources and scopes of records, which are stored once for each scope. */
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
