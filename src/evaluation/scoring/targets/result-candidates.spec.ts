import { rangesOf, scannedRangeOf } from './result-candidates';

const target = (result_id: string) => ({ result_id, trace_id: null, session_id: null });

describe('rangesOf', () => {
  it('returns one range without scanned ranges', () => {
    expect(rangesOf([])).toEqual([{ below: undefined, above: undefined }]);
  });

  it('returns the ranges that were not scanned, newest first, and then the merged scanned ranges', () => {
    const scannedRanges = [
      { from: '2', to: '3' },
      { from: '7', to: '8' },
      { from: '6', to: '7' },
    ];
    expect(rangesOf(scannedRanges)).toEqual([
      { below: undefined, above: '8' },
      { below: '6', above: '3' },
      { below: '2', above: undefined },
      { from: '6', to: '8' },
      { from: '2', to: '3' },
    ]);
  });
});

describe('scannedRangeOf', () => {
  it('returns the range from the oldest target to the newest result of all scanned ranges', () => {
    const scannedRanges = [
      { from: '1', to: '2' },
      { from: '7', to: '8' },
    ];
    expect(scannedRangeOf([target('5'), target('4')], [])).toEqual({ from: '4', to: '5' });
    expect(scannedRangeOf([target('5'), target('4')], scannedRanges)).toEqual({ from: '4', to: '8' });
    expect(scannedRangeOf([target('9')], scannedRanges)).toEqual({ from: '9', to: '9' });
    expect(scannedRangeOf([], scannedRanges)).toBeNull();
  });
});
