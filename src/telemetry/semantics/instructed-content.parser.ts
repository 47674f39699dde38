import type { OtlpValue } from '#otlp';
import { contentOf } from './content.parser';

/**
 * The value of a message attribute ({@link contentOf}), and before the messages what the system was told apart from
 * them (gen_ai.system_instructions), as a message of its own: up to version 1.36 it was the first message, and whoever
 * reads or scores a trace is shown the same of either.
 */
export function instructedContentOf(
  value: OtlpValue | undefined,
  mimeType?: OtlpValue,
  instructions?: OtlpValue,
): OtlpValue {
  const content = contentOf(value, mimeType);
  const told = contentOf(instructions);
  if (told === null || !Array.isArray(content)) return content;
  const parts = Array.isArray(told) ? told : [{ type: 'text', content: told }];
  return [{ role: 'system', parts }, ...content];
}
