//! Turns the DNS answers and the whole mail into a verdict. No lookups here: a record that was not fetched counts
//! as a failed lookup.

use bytes::Bytes;
use mail_auth::common::crypto::HashAlgorithm;
use mail_auth::dkim::Canonicalization;
use mail_auth::dmarc::Policy;
use mail_auth::dmarc::verify::DmarcParameters;
use mail_auth::{
    AuthenticatedMessage, DkimOutput, DkimResult, DmarcOutput, DmarcResult, Parameters, SpfOutput, SpfResult,
};

use super::ask::{Authenticator, Exists, MailEvidence, Records, SpfSender};
use super::coverage::{self, MailPart};
use super::verdict::{AuthenticationVerdict, Check};
use rookery_reading::mail::parse::ParsedMail;

/// Larger mails are hashed off the runtime's threads.
const LARGE: usize = 256 * 1024;

impl Authenticator {
    /// The verdict on a whole mail. Does no lookups.
    pub async fn judge(
        &self,
        asked: MailEvidence<'_>,
        mail: &ParsedMail,
        raw: &Bytes,
    ) -> AuthenticationVerdict {
        let MailEvidence { mail: mut header, sender, records, too_many, arc_too_long, inherited } = asked;
        let kinds: Vec<BodyHashKind> =
            header.body_hashes.iter().map(|(how, hash, length, _)| (*how, *hash, *length)).collect();
        let hashes = self.body_hashes(raw, header.body_offset as usize, kinds.clone()).await;
        header.body_hashes = kinds.into_iter().zip(hashes).map(|((a, b, c), hash)| (a, b, c, hash)).collect();
        let header = header;
        let dkim = self.resolver.verify_dkim(Parameters::new(&header).with_txt_cache(&records)).await;
        let arc = self.resolver.verify_arc(Parameters::new(&header).with_txt_cache(&records)).await;
        let signed: Vec<String> = passed(&dkim)
            .filter_map(|output| output.signature())
            .map(|signature| signature.d.clone())
            .collect();
        // If our parser and that of `mail-auth` read different From addresses, DMARC must not pass.
        let author = mail.from.as_ref().filter(|_| mail.single_from);
        let agreed = match (author, header.from.as_slice()) {
            (Some(ours), [theirs]) => ours.email.eq_ignore_ascii_case(theirs),
            _ => false,
        };
        let (dmarc, policy, by_spf) = if agreed {
            let found = self.dmarc(&header, &dkim, &sender, &records).await;
            let by_spf = *found.spf_result() == DmarcResult::Pass;
            (of_dmarc(&found.result()), inherited.unwrap_or(found.policy()), by_spf)
        } else {
            (Check::None, Policy::Unspecified, false)
        };
        let vouched = match dmarc {
            // SPF passed: the domain's own server delivered the mail, so all its fields are authentic.
            Check::Pass if by_spf => MailPart::ALL.to_vec(),
            Check::Pass => self.signed(&header, &dkim, &records).await,
            _ => Vec::new(),
        };
        AuthenticationVerdict {
            spf: of_spf(sender.spf.result()),
            spf_domain: Some(sender.domain).filter(|domain| !domain.is_empty()),
            dkim: if too_many { Check::PermError } else { best(&dkim) },
            dkim_domains: signed,
            dmarc,
            vouched,
            arc: if arc_too_long { Check::PermError } else { of_dkim(arc.result()) },
            null_sender: false,
            unwanted: dmarc == Check::Fail && policy == Policy::Reject,
            held: false,
        }
    }

    /// The parts that aligned signatures cover.
    async fn signed(
        &self,
        header: &AuthenticatedMessage<'_>,
        dkim: &[DkimOutput<'_>],
        records: &Records,
    ) -> Vec<MailPart> {
        let nobody = SpfSender { spf: SpfOutput::new(String::new()), domain: String::new() };
        let mut covered = Vec::new();
        for output in passed(dkim) {
            let Some(signature) = output.signature() else { continue };
            let alone = self.dmarc(header, std::slice::from_ref(output), &nobody, records).await;
            if of_dmarc(&alone.result()) == Check::Pass {
                let fields = header.headers.iter().map(|(name, _)| *name);
                covered.extend(coverage::covered(fields, &signature.h));
            }
        }
        covered.sort();
        covered.dedup();
        covered
    }

    async fn dmarc(
        &self,
        header: &AuthenticatedMessage<'_>,
        dkim: &[DkimOutput<'_>],
        sender: &SpfSender,
        records: &Records,
    ) -> DmarcOutput {
        let asked = DmarcParameters::new(header, dkim, &sender.domain, &sender.spf);
        let asked = Parameters::new(asked).with_txt_cache(records).with_ipv4_cache(&Exists);
        self.resolver.verify_dmarc(asked).await
    }

    async fn body_hashes(&self, raw: &Bytes, from: usize, kinds: Vec<BodyHashKind>) -> Vec<Vec<u8>> {
        let (whole, count) = (raw.clone(), kinds.len());
        let hashes = move || {
            let body = whole.get(from..).unwrap_or_default();
            let hash = |(how, hash, length): &BodyHashKind| {
                hash.hash(how.canonical_body(body, *length)).as_ref().to_vec()
            };
            kinds.iter().map(hash).collect()
        };
        if raw.len() < LARGE {
            return hashes();
        }
        let _turn = self.hashing.acquire().await;
        tokio::task::spawn_blocking(hashes).await.unwrap_or_else(|_| vec![Vec::new(); count])
    }
}

/// How a body is hashed: canonicalization, algorithm, and length.
type BodyHashKind = (Canonicalization, HashAlgorithm, u64);

fn passed<'a, 'x>(outputs: &'a [DkimOutput<'x>]) -> impl Iterator<Item = &'a DkimOutput<'x>> {
    outputs.iter().filter(|output| *output.result() == DkimResult::Pass)
}

fn best(outputs: &[DkimOutput]) -> Check {
    const ORDER: [Check; 5] = [Check::Pass, Check::TempError, Check::Fail, Check::PermError, Check::Neutral];
    let found: Vec<Check> = outputs.iter().map(|output| of_dkim(output.result())).collect();
    ORDER.into_iter().find(|check| found.contains(check)).unwrap_or_default()
}

/// `mail-auth` calls a body that was changed "neutral". We call it a failure.
fn of_dkim(result: &DkimResult) -> Check {
    match result {
        DkimResult::Pass => Check::Pass,
        DkimResult::Fail(_) => Check::Fail,
        DkimResult::Neutral(mail_auth::Error::Dkim(mail_auth::dkim::DkimError::FailedBodyHashMatch)) => {
            Check::Fail
        }
        DkimResult::Neutral(_) => Check::Neutral,
        DkimResult::TempError(_) => Check::TempError,
        DkimResult::PermError(_) => Check::PermError,
        DkimResult::None => Check::None,
    }
}

fn of_dmarc(result: &DmarcResult) -> Check {
    match result {
        DmarcResult::Pass => Check::Pass,
        DmarcResult::Fail(_) => Check::Fail,
        DmarcResult::TempError(_) => Check::TempError,
        DmarcResult::PermError(_) => Check::PermError,
        DmarcResult::None => Check::None,
    }
}

fn of_spf(result: SpfResult) -> Check {
    match result {
        SpfResult::Pass => Check::Pass,
        SpfResult::Fail => Check::Fail,
        SpfResult::SoftFail => Check::SoftFail,
        SpfResult::Neutral => Check::Neutral,
        SpfResult::TempError => Check::TempError,
        SpfResult::PermError => Check::PermError,
        SpfResult::None => Check::None,
    }
}
