import { isObject, type JsonObject, objectOf, textOf } from './json-shape';

/** Approximate bytes of JSON per token. */
const BYTES_PER_TOKEN = 4;
/** Approximate characters of a base64 document per token. */
const DOCUMENT_CHARACTERS_PER_TOKEN = 40;
/** The tokens of an image of about one megapixel. */
const IMAGE_TOKENS = 1_600;

/** Estimates the input tokens of a Messages request: its texts and tools by their size, and images and documents separately. */
export function estimatedInputTokens({ system, messages, tools, tool_choice }: JsonObject): number {
  let files = 0;
  const withoutFiles = (_name: string, value: unknown): unknown => {
    const tokens = fileTokens(value);
    files += tokens;
    return tokens > 0 ? undefined : value;
  };
  const text = JSON.stringify({ system, messages, tools, tool_choice }, withoutFiles);
  return Math.ceil(files + Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

function fileTokens(value: unknown): number {
  if (!isObject(value)) return 0;
  if (value.type === 'image') return IMAGE_TOKENS;
  if (value.type !== 'document') return 0;
  const { type, data } = objectOf(value.source);
  return type === 'base64' ? (textOf(data)?.length ?? 0) / DOCUMENT_CHARACTERS_PER_TOKEN : 0;
}
