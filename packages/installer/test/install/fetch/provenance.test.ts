import t from 'tap'
import { confirmBuilders } from '../../../src/install/consent/consent.ts'
import { builderOf, provenanceChange } from '../../../src/install/fetch/provenance.ts'
import { builderNotes } from '../../../src/install/plan/trust-notes.ts'
import type { Reporter } from '../../../src/reporting/reporter.ts'

/** A certificate whose only name is the workflow `release.yml` of acme/hello at the tag v1. */
const certificate =
  'MIIBsjCCAVegAwIBAgIUEwnDoXr0SIKiHVumK728Hr79q/kwCgYIKoZIzj0EAwIwADAgFw0yNjExMjUwNjMzMTFaGA8yMTI2MTEwMTA2MzMxMVowADBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABCrS2753X9EPCqV+HXCVB/qeZlePGywr664mVHcDalPKKv5Z55GKrH7bVi4Lb3b5VjF1xCwhem0IHgd7vx9oKZ+jgawwgakwHQYDVR0OBBYEFKV+hXDX8E8mQTJyx8lYWSMPzgM0MB8GA1UdIwQYMBaAFKV+hXDX8E8mQTJyx8lYWSMPzgM0MA8GA1UdEwEB/wQFMAMBAf8wVgYDVR0RAQH/BEwwSoZIaHR0cHM6Ly9naXRodWIuY29tL2FjbWUvaGVsbG8vLmdpdGh1Yi93b3JrZmxvd3MvcmVsZWFzZS55bWxAcmVmcy90YWdzL3YxMAoGCCqGSM49BAMCA0kAMEYCIQDh7Ch7IjR7lLU/JKkZ5LsC7RtH0/tVlJU/0tne5AQhjgIhAODZLnchBfPQawrmo5QqywmIGW9PR4WsKt/E2AGGvepL'
const statement = (predicate: object) => ({
  payload: Buffer.from(JSON.stringify({ predicate })).toString('base64'),
})

const acme = {
  repository: 'https://github.com/acme/hello',
  workflow: 'https://github.com/acme/hello/.github/workflows/release.yml',
}

t.test('the builder is read from the certificate and the statement', async (t) => {
  const ofRegistry = { dsseEnvelope: statement({}), verificationMaterial: {} }
  const v1 = { buildDefinition: { externalParameters: { workflow: { repository: acme.repository } } } }
  const v0 = { invocation: { configSource: { uri: `git+${acme.repository}@refs/tags/v1` } } }
  const inChain = { x509CertificateChain: { certificates: [{ rawBytes: certificate }] } }
  for (const [predicate, verificationMaterial] of [
    [v1, { certificate: { rawBytes: certificate } }],
    [v0, inChain],
  ] as const) {
    const bundle = { dsseEnvelope: statement(predicate), verificationMaterial }
    t.strictSame(builderOf([{ bundle: ofRegistry }, { bundle }]), acme)
  }
  t.strictSame(builderOf([{ bundle: ofRegistry }]), {})
  t.strictSame(builderOf(undefined), {})
})

t.test('another repository or workflow is a change', async (t) => {
  const signed = { keyid: 'one', provenance: true, ...acme }
  const workflow = acme.workflow.replace('release', 'other')
  t.strictSame(provenanceChange(signed, { ...signed, workflow }), { from: acme, to: { ...acme, workflow } })
  const repository = 'https://github.com/mallory/hello'
  t.match(provenanceChange(signed, { ...signed, repository }), { to: { repository } })
  t.match(provenanceChange(signed, { keyid: 'one', provenance: true }), { to: {} }, 'none is named any more')
  t.equal(provenanceChange(signed, { ...signed, keyid: 'other' }), null)
  t.equal(provenanceChange({ keyid: 'one', provenance: true }, signed), null, 'a record that names none')
  t.equal(provenanceChange(undefined, signed), null)
})

t.test('the change is in the plan, and only yes installs it on a terminal', async (t) => {
  const change = { from: acme, to: { ...acme, workflow: acme.workflow.replace('acme', 'mallory') } }
  const plan = { id: 'hello', version: '1.1.0', provenanceChange: change }
  t.strictSame(builderNotes({ ...plan, what: 'hello 1.1.0' }), [
    `hello 1.1.0 has another origin than the installed version: ${change.to.workflow} of ${acme.repository}, before ${acme.workflow}.`,
  ])
  const asked = async (
    plans: readonly (typeof plan | { provenanceChange: null; id: string; version: string })[],
  ) => {
    const questions: string[] = []
    const confirm = async (question: string) => {
      questions.push(question)
      return false
    }
    const terminal: Reporter = {
      ...{ verbose: false, interactive: true, confirm },
      note: () => {},
      during: (_, work) => work(),
    }
    await confirmBuilders(plans, { terminal })
    return questions
  }
  await t.rejects(asked([plan]), { code: 'declined', exitCode: 4 })
  t.strictSame(await asked([{ ...plan, provenanceChange: null }]), [])
})
