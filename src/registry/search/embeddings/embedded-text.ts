import { cutText } from '../search-words';
import type { SearchDocument } from '../search-document';

/** Characters of a text that are embedded: what models read of it, about, and what the built-in embedder has time for. */
const TEXT_MAX = 8_000;

/** What is embedded of a document: its name, its description and the beginning of its body. */
export const embeddedText = ({
  name,
  description,
  body,
}: Pick<SearchDocument, 'name' | 'description' | 'body'>): string =>
  cutText([name, description, body].filter((part) => part != null && part !== '').join('\n'), TEXT_MAX);
