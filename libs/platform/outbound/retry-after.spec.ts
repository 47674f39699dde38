import { retryAfterMs } from './retry-after';

const NOW = Date.parse('2026-03-01T12:00:00Z');

describe('retryAfterMs', () => {
  it.each<[string, Record<string, string | string[]>, number | undefined]>([
    ['no header', {}, undefined],
    ['seconds', { 'retry-after': '120' }, 120_000],
    ['a fraction of a second', { 'retry-after': ' 0.25 ' }, 250],
    ['zero seconds', { 'retry-after': '0' }, 0],
    ['a date', { 'retry-after': 'Sun, 01 Mar 2026 12:00:30 GMT' }, 30_000],
    ['a date in the obsolete format', { 'retry-after': 'Sunday, 01-Mar-26 12:00:30 GMT' }, 30_000],
    ['a past date', { 'retry-after': 'Fri, 31 Dec 1999 23:59:59 GMT' }, 0],
    ['milliseconds, which take precedence', { 'retry-after-ms': '1500', 'retry-after': '2' }, 1_500],
    ['zero milliseconds', { 'retry-after-ms': '0', 'retry-after': '2' }, 0],
    ['invalid milliseconds', { 'retry-after-ms': 'soon', 'retry-after': '2' }, 2_000],
    ['negative milliseconds', { 'retry-after-ms': '-5', 'retry-after': '2' }, 2_000],
    ['empty milliseconds', { 'retry-after-ms': '', 'retry-after': '2' }, 2_000],
    ['a repeated header', { 'retry-after': ['3', '9'] }, 3_000],
    ['a word', { 'retry-after': 'later' }, undefined],
    ['a word with a number, which Date.parse accepts', { 'retry-after': 'later 5' }, undefined],
    ['negative seconds', { 'retry-after': '-5' }, undefined],
    ['signed seconds', { 'retry-after': '+5' }, undefined],
    ['infinity', { 'retry-after': 'Infinity' }, undefined],
    ['infinite milliseconds', { 'retry-after-ms': 'Infinity' }, undefined],
    ['no number', { 'retry-after': 'NaN' }, undefined],
    ['an exponent', { 'retry-after': '1e9' }, undefined],
    ['hexadecimal milliseconds', { 'retry-after-ms': '0xff' }, undefined],
    ['more than a day', { 'retry-after': '9'.repeat(400) }, 86_400_000],
    ['milliseconds of more than a day', { 'retry-after-ms': '9'.repeat(30) }, 86_400_000],
    ['a date far away', { 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' }, 86_400_000],
    ['a date that is not one', { 'retry-after': 'Fri, 99 Dec 9999 23:59:59 GMT' }, undefined],
    ['an empty text', { 'retry-after': '  ' }, undefined],
  ])('reads %s', (_, headers, ms) => {
    expect(retryAfterMs(headers, NOW)).toBe(ms);
  });
});
