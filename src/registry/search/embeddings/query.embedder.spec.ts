import { withoutStopWords } from './query.embedder';

describe('a query for the built-in embedder', () => {
  it.each([
    ['How do I define the routes?', 'define routes?'],
    ['my car', 'my car'],
    ['to be or not to be', 'to be or not to be'],
    [' two\nlines ', 'two lines'],
    ['', ''],
  ])('is of %j: %j', (query, meaning) => {
    expect(withoutStopWords(query)).toBe(meaning);
  });
});
