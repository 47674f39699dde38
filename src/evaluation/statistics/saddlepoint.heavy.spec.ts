import { bell, type Differences, expectLikeRandomSigns, signed } from './sign-flips.fixture';

describe('signFlipTail', () => {
  it.each<Differences>([
    ['of size 1 up to a millionth', 'drawn', (r) => signed(279, 156, (i) => 1 - 1e-6 * (r.uniform() + (i < 156 ? 2 : 0)))],
    ['of size 1 up to a millionth, a quarter of them 0', 'drawn', (r) => signed(400, 218, (i) => (i % 4 ? 1 : 0) + 1e-6 * r.uniform())],
    ['on few levels, with some between', 'drawn', (r) => signed(400, 220, (i) => (i % 20 ? 1 + (i % 2) : r.uniform() / 4))],
    ['on 17 levels', 'approximated', (r) => signed(500, 276, () => 1 + Math.floor(17 * r.uniform()))],
    ['on 17 levels up to a millionth', 'approximated', (r) => signed(500, 276, () => 1 + Math.floor(17 * r.uniform()) + 1e-6 * r.uniform())],
    ['distributed normally', 'approximated', (r) => Float64Array.from({ length: 900 }, () => bell(r) + 0.09)],
    ['skewed', 'approximated', (r) => Float64Array.from({ length: 2_000 }, () => Math.exp(0.4 * bell(r)) - 1.06)],
    ['heavy-tailed', 'approximated', (r) => signed(800, 430, () => (1 - r.uniform()) ** -0.2)],
    ['in 20 clusters', 'approximated', (r) => signed(500, 276, (i) => ((i * 7) % 20) / 20 + 0.004 * r.uniform())],
  ])('matches 100,000 random choices of signs for differences %s', (...differences) => {
    expectLikeRandomSigns(differences);
  }); // oxfmt-ignore
});
