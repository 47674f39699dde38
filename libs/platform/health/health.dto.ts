/** The response to a probe. */
export class HealthDto {
  status!: 'ok';
}
