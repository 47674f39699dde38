/**
 * The scorer, which the service runs in its sandbox. An answer is right if the text after its last `A:`, without `$`
 * and `,`, equals that text of the true answer.
 */
export const FINAL_ANSWER_SCORER = `
function finalAnswer(text) {
  const at = String(text).lastIndexOf('A:');
  return at < 0 ? null : String(text).slice(at + 2).replace(/[$,]/g, '').trim();
}

function score({ output, expected }) {
  const given = finalAnswer(output.solution);
  const right = finalAnswer(expected.ground_truth);
  return { score: given !== null && given === right ? 1 : 0, reasoning: given + ' against ' + right };
}
`;
