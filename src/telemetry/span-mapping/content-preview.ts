import type { OtlpAttributes, OtlpValue } from '#otlp';
import { cutCharacters } from '#platform/json';

/** Length of a preview, in characters. */
export const PREVIEW_MAX = 200;

/**
 * Returns the first characters of a value: of the first user message for an input with messages, and of the last message for an
 * output. Returns the first characters of its JSON if it has no text.
 *
 * @param json the value as JSON
 */
export function previewOf(value: OtlpValue, json: string, kind: 'input' | 'output'): string {
  const text = typeof value === 'string' ? value : messageText(value, kind);
  return cutCharacters(text || json, PREVIEW_MAX);
}

function messageText(value: OtlpValue, kind: 'input' | 'output'): string {
  const list = isMap(value) ? value.messages : value;
  if (!Array.isArray(list)) return '';
  const isMessage = (one: OtlpValue): boolean => isMap(one) && textOf(one) !== '';
  const isOfUser = (one: OtlpValue): boolean => isMessage(one) && USERS.has((one as OtlpAttributes).role);
  const message =
    kind === 'output' ? list.findLast(isMessage) : (list.find(isOfUser) ?? list.findLast(isMessage));
  return textOf(message);
}

const USERS = new Set<OtlpValue | undefined>(['user', 'human']);

const isMap = (value: OtlpValue | undefined): value is OtlpAttributes =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the text of a message, or of a list of its parts, which conventions nest differently. */
function textOf(value: OtlpValue | undefined): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.slice(0, PARTS_MAX).map(textOf).filter(Boolean).join('\n');
  if (!isMap(value)) return '';
  // the last one is LangChain's
  return textOf(
    value.text ?? value.content ?? value.parts ?? value.contents ?? value.message ?? value.kwargs,
  );
}

/** More parts do not fit into a preview. */
const PARTS_MAX = PREVIEW_MAX;
