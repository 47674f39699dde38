/** What a probe is answered. */
export class HealthDto {
  status!: 'ok';
}
