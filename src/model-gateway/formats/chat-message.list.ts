import type { JsonObject } from './json-shape';

/**
 * Collects the messages of a chat request. OpenAI accepts only text in tool results, and no other messages between the results
 * of a turn. So the images of results follow in a user message.
 */
export class ChatMessageList {
  readonly #messages: JsonObject[] = [];
  #images: JsonObject[] = [];

  add(message: JsonObject): void {
    this.#addImages();
    this.#messages.push(message);
  }

  /** Adds the result of a call, with its images as parts of type image_url. */
  addResult(callId: string, text: string, images: readonly JsonObject[]): void {
    this.#messages.push({ role: 'tool', tool_call_id: callId, content: text });
    if (images.length > 0) {
      this.#images.push({ type: 'text', text: `Images in the result of the call ${callId}:` }, ...images);
    }
  }

  /** Adds a tool call, to the last message if it is an assistant message. */
  addCall(call: JsonObject): void {
    this.#addImages();
    const last = this.#messages.at(-1);
    if (last?.role !== 'assistant') {
      this.#messages.push({ role: 'assistant', content: null, tool_calls: [call] });
    } else if (Array.isArray(last.tool_calls)) {
      last.tool_calls.push(call);
    } else {
      last.tool_calls = [call];
    }
  }

  /** Returns all messages. */
  end(): JsonObject[] {
    this.#addImages();
    return this.#messages;
  }

  #addImages(): void {
    if (this.#images.length === 0) return;
    this.#messages.push({ role: 'user', content: this.#images });
    this.#images = [];
  }
}

/** Returns parts as the content of a message. A single text part becomes a string, because every server accepts it. */
export function contentOfParts(parts: readonly JsonObject[]): unknown {
  const [first] = parts;
  return parts.length === 1 && first?.type === 'text' ? first.text : parts;
}

/** Returns the texts of parts, joined with a separator, and the other parts. */
export function textAndImages(
  parts: readonly JsonObject[],
  separator: string,
): [text: string, images: JsonObject[]] {
  const texts = parts.filter(({ type }) => type === 'text').map(({ text }) => text);
  return [texts.join(separator), parts.filter(({ type }) => type !== 'text')];
}
