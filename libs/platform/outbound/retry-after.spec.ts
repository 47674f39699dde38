import { retryAfterMs } from './retry-after';

const NOW = Date.parse('2026-03-01T12:00:00Z');

describe('how long a server asks to wait', () => {
  it.each<[string, Record<string, string | string[]>, number | undefined]>([
    ['nothing', {}, undefined],
    ['seconds', { 'retry-after': '120' }, 120_000],
    ['a part of a second', { 'retry-after': ' 0.25 ' }, 250],
    ['no time at all', { 'retry-after': '0' }, 0],
    ['a date', { 'retry-after': 'Sun, 01 Mar 2026 12:00:30 GMT' }, 30_000],
    ['a date of the old form', { 'retry-after': 'Sunday, 01-Mar-26 12:00:30 GMT' }, 30_000],
    ['a date that is past', { 'retry-after': 'Fri, 31 Dec 1999 23:59:59 GMT' }, 0],
    ['milliseconds, which are more exact', { 'retry-after-ms': '1500', 'retry-after': '2' }, 1_500],
    ['no time in milliseconds', { 'retry-after-ms': '0', 'retry-after': '2' }, 0],
    ['milliseconds that are none', { 'retry-after-ms': 'soon', 'retry-after': '2' }, 2_000],
    ['milliseconds that are past', { 'retry-after-ms': '-5', 'retry-after': '2' }, 2_000],
    ['milliseconds that are empty', { 'retry-after-ms': '', 'retry-after': '2' }, 2_000],
    ['the same twice', { 'retry-after': ['3', '9'] }, 3_000],
    ['a word', { 'retry-after': 'later' }, undefined],
    ['an empty text', { 'retry-after': '  ' }, undefined],
  ])('is read from %s', (_, headers, ms) => {
    expect(retryAfterMs(headers, NOW)).toBe(ms);
  });
});
