import type { OtlpResource } from '#otlp';
import { isName } from '../semantics/figure.parser';

/** The service that a record comes from, by which it is found; null where it has no name, or too long a one. */
export function serviceNameOf({ attributes }: OtlpResource): string | null {
  const name = attributes['service.name'];
  return typeof name === 'string' && isName(name) ? name : null;
}
