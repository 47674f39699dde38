import { estimateMemory } from './memory.estimate';

const MIB = 1024 * 1024;
const tenMib = (unit: string): number =>
  estimateMemory(Buffer.from(`[${unit.repeat((10 * MIB) / unit.length)}0]`)) / MIB;

describe('estimateMemory', () => {
  it('is small for texts and numbers, whatever the texts contain', () => {
    expect(tenMib('"{},[]:\\"{",')).toBeLessThan(20);
    expect(tenMib('0.123456789,')).toBeLessThan(20);
  });

  it('is below 100 MiB for ordinary objects and lists of 10 MiB', () => {
    expect(tenMib('{"id":1,"v":0.5},')).toBeLessThan(100);
    expect(tenMib('[0.123,0.456],')).toBeLessThan(100);
  });

  it('is above 100 MiB for a body of empty values, or one object with a million members', () => {
    expect(tenMib('{},')).toBeGreaterThan(100);
    expect(tenMib('[[]],')).toBeGreaterThan(100);
    const members = Array.from({ length: 900_000 }, (_, index) => `"m${index}":0`);
    expect(estimateMemory(Buffer.from(`{${members.join(',')}}`)) / MIB).toBeGreaterThan(100);
  });

  it('ends at the deepest nesting that is accepted', () => {
    expect(estimateMemory(Buffer.from('['.repeat(1_000_000)))).toBeLessThan(10_000);
    expect(estimateMemory(Buffer.from(']}]}'))).toBe(0);
  });
});
