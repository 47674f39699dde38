import { HIGHLIGHT_PUNCTUATION, highlightIn, highlightOf } from './highlight';

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

describe('a highlight of words that the database does not find', () => {
  it.each([
    ['客户退款处理流程', ['退款', '流程'], '客户<mark>退款</mark>处理<mark>流程</mark>'],
    ['a <b> & カフェ', ['カフェ'], 'a &lt;b&gt; &amp; <mark>カフェ</mark>'],
    ['Les cafés de Montréal', ['CAFE', 'montreal'], 'Les <mark>cafés</mark> de <mark>Montréal</mark>'],
    ['Le café', ['cafe\u0301'], 'Le <mark>café</mark>'],
    ['Größe der Straße', ['strasse', 'groß'], '<mark>Größe</mark> der <mark>Straße</mark>'],
    ['décafé', ['cafe'], null],
    ['客户', ['发票'], null],
    ['客户', [], null],
  ])('in %s for %j', (text, words, html) => {
    expect(highlightIn(text, words)).toBe(html);
  });

  it('is a passage around the first match', () => {
    const html = highlightIn(`${'😀'.repeat(100)}退款${'流'.repeat(1_000)}`, ['退款'])!;
    expect(html).toMatch(/^ ?(😀)+<mark>退款<\/mark>流+$/u);
    expect(html.length).toBeLessThan(320);
  });
});
