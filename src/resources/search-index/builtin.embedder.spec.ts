import { createHash } from 'node:crypto';
import { BUILTIN_DIMENSIONS, embedBuiltin } from './builtin.embedder';
import { normalized, partsLiteral } from './embedding';

const cosine = (a: string, b: string): number => {
  const [one, other] = [embedBuiltin(a)!, embedBuiltin(b)!];
  return one.reduce((sum, value, index) => sum + value * other[index]!, 0);
};

describe('the built-in embedder', () => {
  it('gives the same vectors on every machine, as its identity says', () => {
    const digest = (text: string) =>
      createHash('sha256').update(embedBuiltin(text)!.join(',')).digest('hex').slice(0, 16);
    expect(
      ['Invoice agent', 'ÜBER die Straße', '請求書', 'a', 'Invoice agent\nMakes bills'].map(digest),
    ).toEqual(GOLDEN);
  });

  it('makes vectors of length 1, and no vectors for texts without words', () => {
    const vector = embedBuiltin('an agent that plans routes')!;
    expect(vector).toHaveLength(BUILTIN_DIMENSIONS);
    expect(vector.reduce((sum, value) => sum + value * value, 0)).toBeCloseTo(1, 6);
    expect(['', ' \n', '— !? 😀'].map((text) => embedBuiltin(text))).toEqual([null, null, null]);
  });

  it('places texts near each other if they share words or have words of similar spelling', () => {
    expect(cosine('plans routes', 'PLANS ROUTES')).toBeCloseTo(1, 6);
    expect(cosine('route planner', 'planner of routes')).toBeGreaterThan(0.5);
    expect(cosine('invoice', 'invoce')).toBeGreaterThan(0.2);
    expect(Math.abs(cosine('weather forecast', 'invoice agent'))).toBeLessThan(0.2);
  });

  it('gives the first line, a name, as much weight as the rest', () => {
    const rest = Array.from({ length: 900 }, (_, n) => `word${n * n}`).join(' ');
    expect(cosine('barometer', `barometer\n${rest}`)).toBeGreaterThan(0.6);
    expect(cosine('barometer', `other ${rest}\nbarometer`)).toBeGreaterThan(0.6);
    expect(cosine('barometer', '—\nbarometer')).toBeCloseTo(1, 6);
  });

  it('embeds texts of a million characters', () => {
    expect(embedBuiltin('x'.repeat(1_000_000))).not.toBeNull();
  });
});

describe('vectors', () => {
  it('are normalized from any length to length 1, with seven digits', () => {
    expect(normalized([3, 4])).toEqual(Float64Array.of(0.6, 0.8));
    expect(normalized([3e307, 4e307])).toEqual(Float64Array.of(0.6, 0.8));
    expect(normalized([3e-320, 4e-320])).toEqual(Float64Array.of(0.6, 0.8));
    expect(normalized([1, 1, 1])![0]).toBe(0.5773503);
    expect(normalized([0, 0])).toBeNull();
    expect(normalized([])).toBeNull();
  });

  it('are written in parts of 100 dimensions', () => {
    const literal = partsLiteral(new Float64Array(201).fill(0.5));
    expect(
      literal
        .split('"')
        .filter((part) => part.startsWith('('))
        .map((part) => part.split(',').length),
    ).toEqual([100, 100, 1]);
  });
});

const GOLDEN = [
  '362f8dbc09ab83f7',
  '36438f186409b585',
  '0165ead94c1c925d',
  '0548910c259fec55',
  'b67685c354898bc0',
];
