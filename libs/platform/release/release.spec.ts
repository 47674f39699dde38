import { compareReleases, RELEASE } from '#platform/release';

describe('the order of releases', () => {
  it('is the precedence of Semantic Versioning', () => {
    // the order of the specification's example, with numbers that would sort differently as texts
    const ascending = [
      '0.2.0',
      '0.10.0',
      '1.0.0-alpha',
      '1.0.0-alpha.1',
      '1.0.0-alpha.beta',
      '1.0.0-beta',
      '1.0.0-beta.2',
      '1.0.0-beta.11',
      '1.0.0-rc.1',
      '1.0.0',
      '1.0.1',
      '1.2.0',
      '1.10.0',
      '2.0.0',
    ];
    const orders = ascending.map((a) => ascending.map((b) => Math.sign(compareReleases(a, b))));
    expect(orders).toEqual(ascending.map((_, a) => ascending.map((__, b) => Math.sign(a - b))));
  });

  it('ignores build metadata', () => {
    expect(compareReleases('1.0.0+a', '1.0.0+b')).toBe(0);
    expect(compareReleases('1.0.0-rc.1+a', '1.0.0-rc.1')).toBe(0);
  });

  it('covers the release of this build, and rejects other texts', () => {
    expect(compareReleases(RELEASE, RELEASE)).toBe(0);
    expect(() => compareReleases('1.0', '1.0.0')).toThrow('1.0 is not a release such as 0.2.0.');
  });
});
