import type { OtlpResource } from '#otlp';
import { NAME_MAX } from '../traces/span-record';

/** The service that a record comes from, by which it is found; null where it has no name, or too long a one. */
export function serviceNameOf({ attributes }: OtlpResource): string | null {
  const name = attributes['service.name'];
  return typeof name === 'string' && name !== '' && name.length <= NAME_MAX ? name : null;
}
