import { HIGHLIGHT_PUNCTUATION, highlightOf } from './highlight';

/** Returns a text as the database would: with stand-ins for punctuation, and marks around words. */
const headline = (text: string, ...words: string[]): string => {
  const [punctuation, standIns] = HIGHLIGHT_PUNCTUATION;
  const put = Array.from(text, (one) => standIns[punctuation.indexOf(one)] ?? one).join('');
  return words.reduce((marked, word) => marked.replaceAll(word, `<${word}>`), put);
};

describe('a highlight', () => {
  it('puts words in <mark>, and keeps all punctuation, escaped', () => {
    const text = `a "b" <i>c</i> & 'd' #%&+-./:;<=>?@_~ end`;
    expect(highlightOf(headline(text, 'end'))).toBe(
      'a &quot;b&quot; &lt;i&gt;c&lt;/i&gt; &amp; &#39;d&#39; #%&amp;+-./:;&lt;=&gt;?@_~ <mark>end</mark>',
    );
  });

  it('is null if nothing matches', () => {
    expect(highlightOf(headline('a <b> c'))).toBeNull();
    expect(highlightOf(null)).toBeNull();
  });

  it('closes an open mark where it is cut', () => {
    expect(highlightOf(`<${'x'.repeat(2000)}>`)).toMatch(/^<mark>x{999}<\/mark>$/);
  });

  it('is not cut within a character', () => {
    const html = highlightOf(`<${'😀'.repeat(600)}>`)!;
    expect(html).toBe(`<mark>${'😀'.repeat(499)}</mark>`);
  });

  it('has a different stand-in for each punctuation mark, and no whitespace among them', () => {
    const [punctuation, standIns] = HIGHLIGHT_PUNCTUATION;
    expect(new Set(standIns).size).toBe(punctuation.length);
    expect(standIns).not.toMatch(/\s/);
  });
});
