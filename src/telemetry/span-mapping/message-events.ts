import { type OtlpAttributes, type OtlpValue, setMember } from '#otlp';
import { contentOf } from './content.parser';
import type { MeaningfulEvent } from './span-meaning.types';

/** The attribute with the message as JSON (Azure AI Inference and similar instrumentations). */
const MESSAGE_JSON = 'gen_ai.event.content';

/** Attributes that identify the event and are not part of the message. */
const METADATA = new Set([
  MESSAGE_JSON,
  'event.name',
  'gen_ai.system',
  'gen_ai.provider.name',
  'gen_ai.message.index',
]);

/**
 * Reads messages that were recorded as one event each (OpenTelemetry semantic conventions up to 1.36:
 * gen_ai.user.message, gen_ai.choice …). Returns a list of `{role, …}` in the order of the events, with their attributes;
 * JSON texts are parsed.
 *
 * @param roles the role of the message by event name; a `role` attribute of the event takes precedence
 * @returns undefined if the span has no such event
 */
export function messagesOf(
  events: readonly MeaningfulEvent[],
  roles: Readonly<Record<string, string>>,
): OtlpValue[] | undefined {
  const messages = events
    .filter((event) => Object.hasOwn(roles, event.name))
    .map((event) => message(roles[event.name] as string, event.attributes));
  return messages.length > 0 ? messages : undefined;
}

function message(role: string, attributes: OtlpAttributes): OtlpAttributes {
  const result: OtlpAttributes = { role };
  for (const [name, value] of Object.entries(attributes)) {
    if (!METADATA.has(name)) {
      setMember(result, name, contentOf(value));
    }
  }
  const content = contentOf(attributes[MESSAGE_JSON]);
  if (content !== null && typeof content === 'object' && !Array.isArray(content)) {
    for (const [name, value] of Object.entries(content)) {
      setMember(result, name, value);
    }
  } else if (content !== null) {
    result.content = content;
  }
  return result;
}

/**
 * Reads events that were written into an attribute as a list of objects, each with its name as `event.name`.
 *
 * @returns an empty list if the attribute is not such a list
 */
export function eventsIn(attribute: OtlpValue | undefined): MeaningfulEvent[] {
  const list = contentOf(attribute);
  return Array.isArray(list) ? list.flatMap(eventOf) : [];
}

function eventOf(item: OtlpValue): MeaningfulEvent[] {
  if (item === null || typeof item !== 'object' || Array.isArray(item)) return [];
  const name = item['event.name'];
  return typeof name === 'string' ? [{ name, attributes: item }] : [];
}
