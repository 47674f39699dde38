import { slugOf } from './slug';

describe('slugs', () => {
  it.each([
    ['pdf-forms', 'pdf-forms'],
    ['  Prüfung Nr. 1 ', 'prufung-nr-1'],
    ['../../etc/passwd', 'etc-passwd'],
    ['İstanbul', 'istanbul'],
    ['План', 'item'],
    ['', 'item'],
    ['-', 'item'],
    ['CON', 'con-item'],
    ['lpt1', 'lpt1-item'],
    ['con.txt', 'con-txt'],
    ['a'.repeat(70), 'a'.repeat(64)],
    [`${'a'.repeat(63)} b`, 'a'.repeat(63)],
  ])('are valid directory names on every system: %j becomes %s', (name, slug) => {
    expect(slugOf(name)).toBe(slug);
  });
});
