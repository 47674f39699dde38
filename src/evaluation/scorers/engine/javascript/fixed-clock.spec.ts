import { fixClock, SANDBOX_TIME_MS } from './fixed-clock';

describe('fixClock', () => {
  const realm = { Date };
  fixClock(realm);
  const Fixed = realm.Date;

  it('stops the clock', () => {
    expect(Fixed.now()).toBe(SANDBOX_TIME_MS);
    expect(new Fixed().getTime()).toBe(SANDBOX_TIME_MS);
    expect(Date.now()).toBeGreaterThan(SANDBOX_TIME_MS);
  });

  it('reads and writes local time as UTC', () => {
    const date = new Fixed(2020, 6, 1, 23, 59, 58);
    expect(date.toISOString()).toBe('2020-07-01T23:59:58.000Z');
    expect(date.getTimezoneOffset()).toBe(0);
    expect([date.getFullYear(), date.getMonth(), date.getDate(), date.getDay()]).toEqual([2020, 6, 1, 3]);
    expect([date.getHours(), date.getMinutes(), date.getSeconds()]).toEqual([23, 59, 58]);
    expect(new Fixed(1_000).getTime()).toBe(1_000);
  });
});
