/** English words that sentences are held together by, and that tell nothing of what is looked for. */
const MEANINGLESS = new Set(
  (
    'a about after all also am an and any are as at be been before being both but by can could did do does doing for from ' +
    'had has have having he her here his how i if in into is it its just me more most my no nor not of off on once only or ' +
    'other our out over own she should so some such than that the their them then there these they this those through to ' +
    'too under until up very was we were what when where which while who whom why will with would you your'
  ).split(' '),
);

/** Words that make a sentence; of fewer, as in `my car`, each may be part of a name. */
const SENTENCE_MIN = 4;

/** What is left of a sentence without them; a query that is none, or has nothing else, as it is. In one line. */
export function meaningOf(query: string): string {
  const words = query.trim().split(/\s+/);
  if (words.length < SENTENCE_MIN) return words.join(' ');
  const left = words.filter((word) => !MEANINGLESS.has(word.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')));
  return (left.some((word) => /[\p{L}\p{N}]/u.test(word)) ? left : words).join(' ');
}
