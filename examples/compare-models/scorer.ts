/**
 * The scorer, as it is registered with the service and run in its sandbox: an answer is right when what stands after
 * its last `A:`, without `$` and `,`, is what stands there in the true answer.
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
