import fc from 'fast-check';
import { canonicalNumber, freeFormNumberFault, isKeptByDouble } from './number.rule';
import { toJsonText } from './json.writer';

const literal = fc
  .stringMatching(/^-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?$/)
  .filter((text) => Number.isFinite(Number(text)));

describe('a number', () => {
  it.each(['1.0', '-0', '1e5', '1E+2', '0.10', '9007199254740993', '1152921504606847000', '1e-400', '1e-07'])(
    'is not kept by a double if it is written as %s',
    (text) => expect(isKeptByDouble(text)).toBe(false),
  );

  it.each([
    '0',
    '-1',
    '0.1',
    '1.5e-7',
    '1e+21',
    '1152921504606846976',
    '9007199254740992',
    '0.30000000000000004',
  ])('is kept by a double if it is written as %s', (text) => expect(isKeptByDouble(text)).toBe(true));

  it('keeps its original spelling if it is kept by a double', () => {
    fc.assert(
      fc.property(literal, (text) => {
        if (isKeptByDouble(text)) expect(toJsonText(Number(text))).toBe(text);
      }),
    );
  });

  it('may have any digits in a free-form member, but must be finite', () => {
    for (const text of ['1e400', '-1e309', `1${'0'.repeat(309)}`, `${'9'.repeat(250)}e99`]) {
      expect(freeFormNumberFault(text)).toContain('too large');
    }
    for (const text of ['1e-400', '1e308', `0.${'1'.repeat(400)}`, '0e999', '12345678901234567890']) {
      expect(freeFormNumberFault(text)).toBeUndefined();
    }
  });
});

describe('canonicalNumber', () => {
  it.each([
    ['1.0', '1'],
    ['-0.0', '0'],
    ['0e99', '0'],
    ['1E+2', '100'],
    ['120e-1', '12'],
    ['0.000001', '0.000001'],
    ['0.0000001', '1e-7'],
    ['1e21', '1e+21'],
    ['100000000000000000000', '100000000000000000000'],
    ['9007199254740993', '9007199254740993'],
    ['-1152921504606847000', '-1152921504606847000'],
    ['0.1000000000000000000001', '0.1000000000000000000001'],
    ['1180591620717411303424', '1.180591620717411303424e+21'],
    ['1e-400', '1e-400'],
    ['0.05e-99999999999999999999', '5e-100000000000000000001'],
  ])('writes %s as %s', (text, expected) => {
    expect(canonicalNumber(text)).toBe(expected);
  });

  it('writes doubles as ECMAScript does', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(canonicalNumber(value.toString())).toBe(String(value));
      }),
    );
  });

  it('writes equal numbers alike, and different ones differently', () => {
    fc.assert(
      fc.property(literal, fc.nat(3), (text, zeros) => {
        const canonical = canonicalNumber(text);
        expect(canonicalNumber(canonical)).toBe(canonical);
        const [mantissa = '', exponent = '0'] = text.split(/[eE]/);
        const shifted = `${mantissa}${mantissa.includes('.') ? '' : '.'}${'0'.repeat(zeros + 1)}e${exponent}`;
        expect(canonicalNumber(shifted)).toBe(canonical);
        if (!mantissa.includes('.')) {
          const next = `${BigInt(mantissa) + 1n}e${exponent}`;
          expect(canonicalNumber(next)).not.toBe(canonical);
        }
      }),
    );
  });
});
