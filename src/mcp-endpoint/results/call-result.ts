import type { ContentBlock } from '@modelcontextprotocol/server';
import { isJsonObject } from '#platform/json';
import type { ToolCallResult } from '../../mcp-servers';

/** The maximum size of the images and sounds in a response, in bytes of JSON. Those that exceed it are left out. */
const MEDIA_MAX = 1024 * 1024;

/** The maximum length of a media type in a response, in characters. */
const MEDIA_TYPE_MAX = 255;

/** The parts of a result of a registered server's tool. */
export interface CallParts {
  /** The content for the model: texts without `_meta` and annotations, and descriptions of images and sounds. */
  content: unknown[];
  structured: Record<string, unknown> | null;
  /** The images and sounds, without other members. */
  media: ContentBlock[];
}

/** Splits a result. Images and sounds are separate, because as text they would only fill the context of the model. */
export function partsOf({ content, structuredContent }: ToolCallResult): CallParts {
  const media: ContentBlock[] = [];
  let bytes = 0;
  const described = content.map((block) => {
    if (isText(block)) return { type: block.type, text: block.text };
    if (!isMedia(block)) return block;
    const { type, data } = block;
    const mimeType = block.mimeType.slice(0, MEDIA_TYPE_MAX);
    const attached = { type, mimeType, data };
    const size = Buffer.byteLength(JSON.stringify(attached));
    const is_attached = bytes + size <= MEDIA_MAX;
    if (is_attached) {
      bytes += size;
      media.push(attached);
    }
    return { type, mimeType, size_bytes: Math.floor((data.length * 3) / 4), is_attached };
  });
  return { content: described, structured: structuredContent ?? null, media };
}

interface Text {
  type: 'text';
  text: string;
}

const isText = (block: unknown): block is Text =>
  isJsonObject(block) && block['type'] === 'text' && typeof block['text'] === 'string';

interface Media {
  type: 'image' | 'audio';
  mimeType: string;
  data: string;
}

const isMedia = (block: unknown): block is Media =>
  isJsonObject(block) &&
  (block['type'] === 'image' || block['type'] === 'audio') &&
  typeof block['mimeType'] === 'string' &&
  typeof block['data'] === 'string';

/** Returns the members of a response for a result, without the media. */
export const viewOf = ({ content, structured }: CallParts): object => ({
  content,
  structured_content: structured,
});

/** Returns a result as one text that can be read in parts: its texts, or JSON if it has anything but texts. */
export function textOf(parts: CallParts): string {
  const texts = parts.content.filter(isText).map(({ text }) => text);
  const isOnlyText = parts.structured === null && texts.length === parts.content.length;
  return isOnlyText ? texts.join('\n') : JSON.stringify(viewOf(parts));
}
