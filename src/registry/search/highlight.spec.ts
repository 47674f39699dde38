import { HIGHLIGHT_PUNCTUATION, highlightOf } from './highlight';

/** As the database gives it: with stand-ins for punctuation, and marks. */
const headline = (text: string, ...words: string[]): string => {
  const [punctuation, standIns] = HIGHLIGHT_PUNCTUATION;
  const put = Array.from(text, (one) => standIns[punctuation.indexOf(one)] ?? one).join('');
  return words.reduce((marked, word) => marked.replaceAll(word, `<${word}>`), put);
};

describe('a highlight', () => {
  it('has words in <mark>, and all punctuation as it was, escaped', () => {
    const text = `a "b" <i>c</i> & 'd' #%&+-./:;<=>?@_~ end`;
    expect(highlightOf(headline(text, 'end'))).toBe(
      'a &quot;b&quot; &lt;i&gt;c&lt;/i&gt; &amp; &#39;d&#39; #%&amp;+-./:;&lt;=&gt;?@_~ <mark>end</mark>',
    );
  });

  it('is null where nothing was found', () => {
    expect(highlightOf(headline('a <b> c'))).toBeNull();
    expect(highlightOf(null)).toBeNull();
  });

  it('closes what it opened where it is cut', () => {
    expect(highlightOf(`<${'x'.repeat(2000)}>`)).toMatch(/^<mark>x{999}<\/mark>$/);
  });

  it('has no half of a character where it is cut', () => {
    const html = highlightOf(`<${'😀'.repeat(600)}>`)!;
    expect(html).toBe(`<mark>${'😀'.repeat(499)}</mark>`);
  });

  it('has one stand-in for each mark, and none that ends a line', () => {
    const [punctuation, standIns] = HIGHLIGHT_PUNCTUATION;
    expect(new Set(standIns).size).toBe(punctuation.length);
    expect(standIns).not.toMatch(/\s/);
  });
});
