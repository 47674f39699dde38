import type { ContentBlock } from '@modelcontextprotocol/server';
import { isJsonObject } from '#platform/json';
import type { ToolCallResult } from '../../mcp-servers';

/** Images and sounds that a response attaches, as base64. More of them are left out. */
const MEDIA_MAX = 1024 * 1024;

/** A result of a registered server's tool, in the parts that a response has. */
export interface CallParts {
  /** What the model reads. Images and sounds are only described. */
  content: unknown[];
  structured: Record<string, unknown> | null;
  /** Images and sounds, as the server sent them. */
  media: ContentBlock[];
}

/** Takes images and sounds out of a result, because as text they would only fill the context of the model. */
export function partsOf({ content, structuredContent }: ToolCallResult): CallParts {
  const media: ContentBlock[] = [];
  let bytes = 0;
  const described = content.map((block) => {
    if (!isMedia(block)) return block;
    const { type, mimeType, data } = block;
    const is_attached = bytes + data.length <= MEDIA_MAX;
    if (is_attached) {
      bytes += data.length;
      media.push(block as ContentBlock);
    }
    return { type, mimeType, size_bytes: Math.floor((data.length * 3) / 4), is_attached };
  });
  return { content: described, structured: structuredContent ?? null, media };
}

interface Media {
  type: 'image' | 'audio';
  mimeType: string;
  data: string;
}

const isMedia = (block: unknown): block is Media =>
  isJsonObject(block) &&
  (block['type'] === 'image' || block['type'] === 'audio') &&
  typeof block['data'] === 'string';

/** Returns a result as one text, to be read in parts: its texts, or the whole as JSON if it has anything else. */
export function textOf({ content, structured }: CallParts): string {
  const texts = content.flatMap((block) =>
    isJsonObject(block) && block['type'] === 'text' && typeof block['text'] === 'string'
      ? [block['text']]
      : [],
  );
  const isText = structured === null && texts.length === content.length;
  return isText ? texts.join('\n') : JSON.stringify({ content, structured_content: structured });
}
