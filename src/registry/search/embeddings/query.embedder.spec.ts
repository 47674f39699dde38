import { withoutStopWords } from './query.embedder';

describe('withoutStopWords', () => {
  it.each([
    ['How do I define the routes?', 'define routes?'],
    ['my car', 'my car'],
    ['to be or not to be', 'to be or not to be'],
    [' two\nlines ', 'two lines'],
    ['', ''],
  ])('turns %j into %j', (query, meaning) => {
    expect(withoutStopWords(query)).toBe(meaning);
  });
});
