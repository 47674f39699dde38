import { isLonger, shown } from './csv.columns';

const TAGS_MAX = 100;
const TAG_LENGTH_MAX = 255;

/** Largest cell of tags, in bytes, as it stands in a file: more than 100 tags of 255 characters need. */
export const TAGS_BYTES = 256 * 1024;

/**
 * The tags of a case: what stands between commas and semicolons in its cells, without the blanks around it. A cell that
 * is a JSON array of texts is taken as these texts, so that a tag may hold any character. Each tag counts once.
 */
export function tagsOf(cells: readonly string[]): string[] {
  const tags = cells.length === 1 ? ofCell(cells[0]!) : cells.flatMap(ofCell);
  return [...new Set(tags)];
}

/** What is wrong with the tags of a case; null for nothing. */
export function faultOfTags(tags: readonly string[]): string | null {
  if (tags.length > TAGS_MAX) return `has more than ${TAGS_MAX} tags`;
  const long = tags.find((tag) => isLonger(tag, TAG_LENGTH_MAX));
  return long === undefined ? null : `has a tag of more than ${TAG_LENGTH_MAX} characters, ${shown(long)}`;
}

const ofCell = (cell: string): string[] =>
  ofArray(cell) ??
  cell
    .split(/[,;]/)
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');

function ofArray(cell: string): string[] | null {
  const text = cell.trim();
  if (!text.startsWith('[') || !text.endsWith(']')) return null;
  try {
    const value: unknown = JSON.parse(text);
    const isTexts = Array.isArray(value) && value.every((one) => typeof one === 'string' && isStorable(one));
    return isTexts ? (value as string[]).filter((tag) => tag !== '') : null;
  } catch {
    return null;
  }
}

/** Escapes of JSON can spell what no text of PostgreSQL holds. */
const isStorable = (text: string): boolean => !/[\0\p{Surrogate}]/u.test(text);
