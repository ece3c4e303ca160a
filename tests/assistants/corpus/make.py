#!/usr/bin/env python3
"""Makes documents/ and documents/labels.jsonl from sources/*.txt; `make.py check` checks what is there.

    python3 -m venv /tmp/corpus
    /tmp/corpus/bin/pip install reportlab==5.1.0 fpdf2==2.8.9 pillow==13.0.0 python-docx==1.2.0 openpyxl==3.1.5 pikepdf==10.17.0
    /tmp/corpus/bin/python make.py [NAME …]

A source is a list of documents. Each begins with `=== file name {labels and options as JSON}`; the page follows:

    plain line            a paragraph, wrapped between the margins; `*` in front makes it bold
    a | b | c             cells at the tab stops; `*` in front of a cell makes it bold
    #18 words             a line in this size, bold; cells are fine as well
    !tabs 50 300 545r     tab stops in points; r ends there, c is centred there
    !font Times 10        Helvetica, Times, Courier (built in), DejaVu, DejaVuSerif, DejaVuMono (embedded)
    !margins 50 545       for paragraphs
    !y 700  !gap 12       the next line's place from the top; space
    !lead 1.6             height of a line in sizes
    !page  !rule  !band words  !logo words  !box x y w h  !stamp words  !picture words

Options: engine (rl, fpdf, scan, scan-ocr, image, docx, txt, csv, xlsx), emit (cells, words, chars, reverse, columns),
page (a4, letter, a5, card, slip), rotate, skew, noise, xml (an e-invoice to embed), seed.
"""
import datetime, hashlib, io, json, random, re, sys, zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUT = HERE / "documents"
KINDS = ["invoice", "receipt", "statement", "contract", "id", "tax", "photo", "other"]
FIELDS = ["vendor", "amount", "currency", "date", "dueDate", "reference"]
PAGES = {"a4": (595, 842), "letter": (612, 792), "a5": (420, 595), "card": (340, 216), "slip": (226, 560), "a4l": (842, 595)}
TTF = Path("/usr/share/fonts/truetype/dejavu")
FILES = {"DejaVu": ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf"), "DejaVuSerif": ("DejaVuSerif.ttf", "DejaVuSerif-Bold.ttf"),
         "DejaVuMono": ("DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf")}
BUILT_IN = {"Helvetica": ("Helvetica", "Helvetica-Bold"), "Times": ("Times-Roman", "Times-Bold"), "Courier": ("Courier", "Courier-Bold")}
LOOKS = {"Helvetica": "DejaVu", "Times": "DejaVuSerif", "Courier": "DejaVuMono"}


def half(name):
    return "sealed" if hashlib.sha256(name.encode()).digest()[0] % 2 else "open"


def sources():
    for path in sorted((HERE / "sources").glob("*.txt")):
        for part in re.split(r"(?m)^=== ", path.read_text())[1:]:
            head, body = part.split("\n", 1)
            cut = head.index("{")
            yield head[:cut].strip(), json.loads(head[cut:]), body.strip("\n")


# ---- the page as a list of things with their places ----

def width(text, font, size, bold):
    from reportlab.pdfbase import pdfmetrics
    return pdfmetrics.stringWidth(text, face(font, bold), size)


def face(font, bold):
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont
    if font in BUILT_IN:
        return BUILT_IN[font][bold]
    name = f"{font}-{'b' if bold else 'r'}"
    if name not in pdfmetrics.getRegisteredFontNames():
        pdfmetrics.registerFont(TTFont(name, str(TTF / FILES[font][bold])))
    return name


def lay(body, opts):
    """Pages of (what, x, y, …); y counts from the top to the line's foot."""
    wide, high = PAGES[opts.get("page", "a4")]
    font, size, lead = "Helvetica", 10, 1.35
    tabs, margins, y = [(50, "l")], (50, wide - 50), 50.0
    pages = [[]]

    def put(x, how, size, bold, text, colour="black"):
        w = width(text, font, size, bold)
        x = x - w if how == "r" else x - w / 2 if how == "c" else x
        pages[-1].append(("text", x, y, font, size, bold, text, colour))

    for line in body.split("\n"):
        if line.startswith("!"):
            word, _, rest = line[1:].partition(" ")
            if word == "tabs":
                tabs = [(float(t.rstrip("rc")), t[-1] if t[-1] in "rc" else "l") for t in rest.split()]
            elif word == "font":
                font, size = rest.split()[0], float(rest.split()[1])
            elif word == "margins":
                margins = tuple(float(v) for v in rest.split())
            elif word == "y":
                y = float(rest)
            elif word == "gap":
                y += float(rest)
            elif word == "lead":
                lead = float(rest)
            elif word == "page":
                pages.append([]); y = 50.0
            elif word == "rule":
                pages[-1].append(("rule", margins[0], y - size * 0.5, margins[1])); y += size * 0.9
            elif word == "band":
                pages[-1].append(("fill", margins[0], y - size, margins[1] - margins[0], size * 1.5))
                put(margins[0] + 5, "l", size, True, rest, "white"); y += size * 1.9
            elif word == "logo":
                pages[-1].append(("logo", tabs[0][0], y, rest)); y += 40
            elif word == "box":
                pages[-1].append(("box", *[float(v) for v in rest.split()]))
            elif word == "stamp":
                pages[-1].append(("stamp", wide / 2, high / 2, rest))
            elif word == "picture":
                pages[-1].append(("picture", *[float(v) for v in rest.split()]))
            else:
                raise SystemExit(f"what is !{word}")
            continue
        if not line.strip():
            y += size * 0.7
            continue
        now, bold = size, False
        m = re.match(r"#(\d+) (.*)", line)
        if m:
            now, line, bold = float(m[1]), m[2], True
        if "|" in line or m or len(tabs) == 1 and tabs[0][1] != "l":
            cells = [c.strip() for c in line.split("|")]
            if y + now > high - 20 and "!y" not in body:
                pages.append([]); y = 50.0
            for cell, (x, how) in zip(cells, tabs, strict=False):
                if cell:
                    strong = bold or cell.startswith("*")
                    put(x, how, now, strong, cell[1:] if cell.startswith("*") else cell)
            assert len(cells) <= len(tabs), (line, tabs)
            y += now * lead
            continue
        if line.startswith("*"):
            bold, line = True, line[1:]
        start = tabs[0][0] if len(tabs) == 1 else margins[0]
        words, row = line.split(), []
        for word in words + [None]:
            if word is None or row and width(" ".join(row + [word]), font, now, bold) > margins[1] - start:
                if y > high - 40:
                    pages.append([]); y = 50.0
                put(start, "l", now, bold, " ".join(row)); y += now * lead; row = []
            if word is not None:
                row.append(word)
    return pages, (wide, high)


def ordered(page, emit, rng):
    texts = [o for o in page if o[0] == "text"]
    rest = [o for o in page if o[0] != "text"]
    if emit in ("words", "chars"):
        out = []
        for _, x, y, font, size, bold, text, colour in texts:
            for m in re.finditer(r"\S+" if emit == "words" else r"\S", text):
                out.append(("text", x + width(text[:m.start()], font, size, bold), y, font, size, bold, m[0], colour))
        texts = out
    if emit == "reverse":
        texts.reverse()
    if emit == "columns":
        texts.sort(key=lambda o: (round(o[1] / 120), o[2]))
    return rest + texts


# ---- the ways a page is written ----

def logo_png(words):
    from PIL import Image, ImageDraw, ImageFont
    f = ImageFont.truetype(str(TTF / "DejaVuSans-Bold.ttf"), 44)
    w = int(f.getlength(words))
    im = Image.new("P", (w + 90, 70), 0)
    im.putpalette([255, 255, 255, 20, 70, 120, 220, 120, 30] + [0] * 9)
    d = ImageDraw.Draw(im)
    d.ellipse((4, 8, 58, 62), fill=2); d.text((72, 8), words, fill=1, font=f)
    return im


def with_reportlab(pages, size, opts):
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen import canvas
    rng = random.Random(opts.get("seed", 1))
    buf = io.BytesIO()
    turned = opts.get("rotate") == 90  # laid on its side, and a note in the page to turn it back
    c = canvas.Canvas(buf, pagesize=size[::-1] if turned else size, invariant=1, pageCompression=opts.get("compress", 1))
    if opts.get("title"):
        c.setTitle(opts["title"])
    high = size[1]
    for page in pages:
        if turned:
            c.setPageRotation(90); c.transform(0, 1, -1, 0, high, 0)
        for o in sorted(ordered(page, opts.get("emit", "cells"), rng), key=lambda o: o[0] != "stamp"):
            if o[0] == "text":
                _, x, y, font, pt, bold, text, colour = o
                c.setFillColor(colour); c.setFont(face(font, bold), pt); c.drawString(x, high - y, text)
            elif o[0] == "rule":
                c.setLineWidth(0.6); c.line(o[1], high - o[2], o[3], high - o[2])
            elif o[0] == "fill":
                c.setFillColorRGB(0.15, 0.2, 0.3); c.rect(o[1], high - o[2] - o[4] * 0.85, o[3], o[4], stroke=0, fill=1)
            elif o[0] == "box":
                c.rect(o[1], high - o[2] - o[4], o[3], o[4])
            elif o[0] == "logo":
                im = logo_png(o[3]); w = im.width * 30 / im.height
                c.drawImage(ImageReader(im.convert("RGB")), o[1], high - o[2] - 15, w, 30)
            elif o[0] == "picture":
                im = scene(opts.get("seed", 1)).resize((160, 120))
                b = io.BytesIO(); im.save(b, "JPEG", quality=50); b.seek(0)
                c.drawImage(ImageReader(b), o[1], high - o[2] - o[4], o[3], o[4])
            elif o[0] == "stamp":
                c.saveState(); c.translate(o[1], high - o[2]); c.rotate(35); c.setFillColorRGB(0.85, 0.85, 0.85)
                c.setFont("Helvetica-Bold", min(60, size[0] / 7)); c.drawCentredString(0, 0, o[3]); c.restoreState()
        c.showPage()
    c.save()
    return buf.getvalue()


def with_fpdf(pages, size, opts):
    from fpdf import FPDF
    pdf = FPDF(unit="pt", format=size)
    pdf.set_creation_date(datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc))
    pdf.set_auto_page_break(False); pdf.core_fonts_encoding = "windows-1252"
    known = set()
    for page in pages:
        pdf.add_page()
        for o in ordered(page, opts.get("emit", "cells"), None):
            if o[0] == "text":
                _, x, y, font, pt, bold, text, colour = o
                if font in FILES and (font, bold) not in known:
                    pdf.add_font(font, "B" if bold else "", str(TTF / FILES[font][bold])); known.add((font, bold))
                pdf.set_font(font, "B" if bold else "", pt)
                pdf.set_text_color(255 if colour == "white" else 0); pdf.text(x, y, text)
            elif o[0] == "rule":
                pdf.line(o[1], o[2], o[3], o[2])
            elif o[0] == "fill":
                pdf.set_fill_color(40, 50, 80); pdf.rect(o[1], o[2] - o[4] * 0.15, o[3], o[4], style="F")
            elif o[0] == "box":
                pdf.rect(*o[1:])
            elif o[0] == "logo":
                im = logo_png(o[3]).convert("RGB"); pdf.image(im, o[1], o[2] - 15, h=30)
            elif o[0] == "stamp":
                pdf.set_text_color(215); pdf.set_font("Helvetica", "B", 50)
                with pdf.rotation(35, o[1], o[2]):
                    pdf.text(o[1] - 120, o[2], o[3])
    return bytes(pdf.output())


def drawn(page, size, opts, dpi):
    """The page as a grey picture with the faults of a scanner or a phone."""
    from PIL import Image, ImageDraw, ImageFilter, ImageFont
    rng = random.Random(opts.get("seed", 7)); k = dpi / 72
    im = Image.new("L", (int(size[0] * k), int(size[1] * k)), 250)
    d = ImageDraw.Draw(im)
    for o in sorted(page, key=lambda o: o[0] != "stamp"):
        if o[0] == "text":
            _, x, y, font, pt, bold, text, colour = o
            name = FILES[LOOKS.get(font, font)][bold]
            f = ImageFont.truetype(str(TTF / name), max(6, int(pt * k * 0.9)))
            want, have = width(text, font, pt, bold) * k, f.getlength(text)
            if have > want * 1.02:
                f = ImageFont.truetype(str(TTF / name), max(6, int(pt * k * 0.9 * want / have)))
            d.text((x * k, y * k), text, fill=255 if colour == "white" else 25, font=f, anchor="ls")
        elif o[0] == "rule":
            d.line((o[1] * k, o[2] * k, o[3] * k, o[2] * k), fill=60, width=2)
        elif o[0] == "fill":
            d.rectangle((o[1] * k, (o[2] - o[4] * 0.15) * k, (o[1] + o[3]) * k, (o[2] + o[4] * 0.85) * k), fill=50)
        elif o[0] == "box":
            d.rectangle((o[1] * k, o[2] * k, (o[1] + o[3]) * k, (o[2] + o[4]) * k), outline=80, width=2)
        elif o[0] == "picture":
            im.paste(scene(opts.get("seed", 1)).convert("L").resize((int(o[3] * k), int(o[4] * k))), (int(o[1] * k), int(o[2] * k)))
        elif o[0] == "stamp":
            f = ImageFont.truetype(str(TTF / "DejaVuSans-Bold.ttf"), int(22 * k))
            d.text((o[1] * k, o[2] * k), o[3], fill=222, font=f, anchor="mm")
    im = im.rotate(opts.get("skew", 0.6), fillcolor=245, resample=Image.BICUBIC, expand=False)
    for _ in range(int(im.width * im.height * opts.get("noise", 0.0004))):
        im.putpixel((rng.randrange(im.width), rng.randrange(im.height)), rng.choice((90, 150, 200, 255)))
    return im.filter(ImageFilter.GaussianBlur(opts.get("blur", 0.5)))


def with_scan(pages, size, opts, layer):
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen import canvas
    buf = io.BytesIO()
    c = canvas.Canvas(buf, pagesize=size, invariant=1)
    for page in pages:
        im = drawn(page, size, opts, opts.get("dpi", 150))
        b = io.BytesIO()
        if opts.get("bw"):
            im.point(lambda v: 255 if v > 150 else 0).convert("1").save(b, "PNG", optimize=True)
        else:
            im.save(b, "JPEG", quality=opts.get("quality", 32))
        b.seek(0)
        c.drawImage(ImageReader(b), 0, 0, size[0], size[1])
        if layer:
            for o in page:
                if o[0] == "text":
                    t = c.beginText(o[1], size[1] - o[2]); t.setTextRenderMode(3); t.setFont(face(o[3], o[5]), o[4])
                    t.textOut(o[6]); c.drawText(t)
        c.showPage()
    c.save()
    return buf.getvalue()


def scene(seed):
    """A picture of nothing in particular: sky, ground, a few things."""
    from PIL import Image, ImageDraw, ImageFilter
    rng = random.Random(seed); w, h = 480, 360
    im = Image.new("RGB", (w, h))
    d = ImageDraw.Draw(im); top = [rng.randrange(90, 220) for _ in range(3)]
    for y in range(h):
        d.line((0, y, w, y), fill=tuple(int(v * (0.5 + 0.5 * y / h)) for v in top))
    for _ in range(rng.randrange(5, 14)):
        x, y, r = rng.randrange(w), rng.randrange(h), rng.randrange(15, 120)
        col = tuple(rng.randrange(30, 230) for _ in range(3))
        shape = rng.choice(("ellipse", "rectangle", "polygon"))
        if shape == "polygon":
            d.polygon([(x + rng.randrange(-r, r), y + rng.randrange(-r, r)) for _ in range(5)], fill=col)
        else:
            getattr(d, shape)((x, y, x + r, y + r * rng.uniform(0.4, 1.4)), fill=col)
    return im.filter(ImageFilter.GaussianBlur(1.2))


def zipped_again(data):
    """The same zip with fixed times, so that a second run gives the same bytes."""
    src, buf = zipfile.ZipFile(io.BytesIO(data)), io.BytesIO()
    with zipfile.ZipFile(buf, "w", zipfile.ZIP_DEFLATED) as out:
        for name in src.namelist():
            data = src.read(name)
            if name == "docProps/core.xml":
                data = re.sub(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", b"2026-01-01T00:00:00Z", data)
            info = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)); info.compress_type = zipfile.ZIP_DEFLATED
            out.writestr(info, data)
    return buf.getvalue()


def with_docx(body, opts):
    from docx import Document
    from docx.shared import Pt
    doc = Document(); table = None
    for line in body.split("\n"):
        cells = [c.strip() for c in line.split(" | ")] if " | " in line else None
        if cells:
            if table is None or len(table.columns) != len(cells):
                table = doc.add_table(rows=0, cols=len(cells))
            for cell, text in zip(table.add_row().cells, cells):
                cell.text = text.lstrip("*")
            continue
        table = None
        if line.startswith("#"):
            size, text = line[1:].split(" ", 1)
            run = doc.add_paragraph().add_run(text); run.bold = True; run.font.size = Pt(int(size))
        elif line.startswith("!page"):
            doc.add_page_break()
        elif line.strip():
            run = doc.add_paragraph().add_run(line.lstrip("*")); run.bold = line.startswith("*")
    buf = io.BytesIO(); doc.save(buf)
    return zipped_again(buf.getvalue())


def with_xlsx(body, opts):
    from openpyxl import Workbook
    book = Workbook(); sheet = book.active
    for line in body.split("\n"):
        row = []
        for cell in line.split(" | "):
            cell = cell.strip()
            row.append(float(cell) if re.fullmatch(r"-?\d+(\.\d+)?", cell) else cell or None)
        sheet.append(row)
    buf = io.BytesIO(); book.save(buf)
    return zipped_again(buf.getvalue())


# ---- e-invoices inside a PDF ----

GUIDE = {"minimum": "urn:factur-x.eu:1p0:minimum", "basicwl": "urn:factur-x.eu:1p0:basicwl",
         "basic": "urn:cen.eu:en16931:2017#compliant#urn:factur-x.eu:1p0:basic", "en16931": "urn:cen.eu:en16931:2017",
         "extended": "urn:cen.eu:en16931:2017#conformant#urn:factur-x.eu:1p0:extended",
         "xrechnung": "urn:cen.eu:en16931:2017#compliant#urn:xeinkauf.de:kosit:xrechnung_3.0", "1.0": "urn:ferd:CrossIndustryDocument:invoice:1p0:comfort"}


def e_invoice(x, f):
    from xml.sax.saxutils import escape as e
    day = lambda tag, d: f'<ram:{tag}><udt:DateTimeString format="102">{d.replace("-", "")}</udt:DateTimeString></ram:{tag}>' if d else ""
    money = lambda v: f"{v:.2f}"
    cur, total = f["currency"], f["amount"]; net, tax = x["net"], round(total - x["net"], 2); due = round(total - x.get("prepaid", 0), 2)
    full = x["profile"] not in ("minimum",)
    note = "".join(f"<ram:IncludedNote><ram:Content>{e(n)}</ram:Content></ram:IncludedNote>" for n in x.get("notes", []))
    buyer = f'<ram:BuyerTradeParty><ram:Name>{e(x["buyer"])}</ram:Name></ram:BuyerTradeParty>'
    seller = f'<ram:SellerTradeParty><ram:Name>{e(f["vendor"])}</ram:Name><ram:PostalTradeAddress><ram:CountryID>{x.get("country", "DE")}</ram:CountryID></ram:PostalTradeAddress></ram:SellerTradeParty>'
    order = f'<ram:BuyerOrderReferencedDocument><ram:{"ID" if x["profile"] == "1.0" else "IssuerAssignedID"}>{e(x["order"])}</ram:{"ID" if x["profile"] == "1.0" else "IssuerAssignedID"}></ram:BuyerOrderReferencedDocument>' if "order" in x else ""
    terms = f'<ram:SpecifiedTradePaymentTerms>{day("DueDateDateTime", f["dueDate"])}</ram:SpecifiedTradePaymentTerms>' if f["dueDate"] and full else ""
    taxes = f'<ram:ApplicableTradeTax><ram:CalculatedAmount>{money(tax)}</ram:CalculatedAmount><ram:TypeCode>VAT</ram:TypeCode><ram:BasisAmount>{money(net)}</ram:BasisAmount><ram:CategoryCode>S</ram:CategoryCode><ram:RateApplicablePercent>{x.get("rate", 19)}</ram:RateApplicablePercent></ram:ApplicableTradeTax>' if full else ""
    lines = ""
    for i, (name, qty, price) in enumerate(x.get("lines", []), 1):
        lines += f'<ram:IncludedSupplyChainTradeLineItem><ram:AssociatedDocumentLineDocument><ram:LineID>{i}</ram:LineID></ram:AssociatedDocumentLineDocument><ram:SpecifiedTradeProduct><ram:Name>{e(name)}</ram:Name></ram:SpecifiedTradeProduct><ram:SpecifiedLineTradeAgreement><ram:NetPriceProductTradePrice><ram:ChargeAmount>{price}</ram:ChargeAmount></ram:NetPriceProductTradePrice></ram:SpecifiedLineTradeAgreement><ram:SpecifiedLineTradeDelivery><ram:BilledQuantity unitCode="C62">{qty}</ram:BilledQuantity></ram:SpecifiedLineTradeDelivery><ram:SpecifiedLineTradeSettlement><ram:ApplicableTradeTax><ram:TypeCode>VAT</ram:TypeCode><ram:CategoryCode>S</ram:CategoryCode><ram:RateApplicablePercent>{x.get("rate", 19)}</ram:RateApplicablePercent></ram:ApplicableTradeTax><ram:SpecifiedTradeSettlementLineMonetarySummation><ram:LineTotalAmount>{money(qty * price)}</ram:LineTotalAmount></ram:SpecifiedTradeSettlementLineMonetarySummation></ram:SpecifiedLineTradeSettlement></ram:IncludedSupplyChainTradeLineItem>'
    sums = (f"<ram:LineTotalAmount>{money(net)}</ram:LineTotalAmount>" if full else "") + \
        f'<ram:TaxBasisTotalAmount>{money(net)}</ram:TaxBasisTotalAmount><ram:TaxTotalAmount currencyID="{cur}">{money(tax)}</ram:TaxTotalAmount><ram:GrandTotalAmount>{money(total)}</ram:GrandTotalAmount>' + \
        (f'<ram:TotalPrepaidAmount>{money(x["prepaid"])}</ram:TotalPrepaidAmount>' if "prepaid" in x else "") + f"<ram:DuePayableAmount>{money(due)}</ram:DuePayableAmount>"
    if x["profile"] == "1.0":
        return f'''<?xml version="1.0" encoding="UTF-8"?>
<rsm:CrossIndustryDocument xmlns:rsm="urn:ferd:CrossIndustryDocument:invoice:1p0" xmlns:ram="urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:12" xmlns:udt="urn:un:unece:uncefact:data:standard:UnqualifiedDataType:15"><rsm:SpecifiedExchangedDocumentContext><ram:GuidelineSpecifiedDocumentContextParameter><ram:ID>{GUIDE["1.0"]}</ram:ID></ram:GuidelineSpecifiedDocumentContextParameter></rsm:SpecifiedExchangedDocumentContext><rsm:HeaderExchangedDocument><ram:ID>{e(f["reference"])}</ram:ID><ram:Name>RECHNUNG</ram:Name><ram:TypeCode>380</ram:TypeCode>{day("IssueDateTime", f["date"])}{note}</rsm:HeaderExchangedDocument><rsm:SpecifiedSupplyChainTradeTransaction><ram:ApplicableSupplyChainTradeAgreement>{seller}{buyer}{order}</ram:ApplicableSupplyChainTradeAgreement><ram:ApplicableSupplyChainTradeDelivery/><ram:ApplicableSupplyChainTradeSettlement><ram:InvoiceCurrencyCode>{cur}</ram:InvoiceCurrencyCode>{terms}<ram:SpecifiedTradeSettlementMonetarySummation>{sums.replace("<ram:LineTotalAmount>", f'<ram:LineTotalAmount currencyID="{cur}">').replace("<ram:GrandTotalAmount>", f'<ram:GrandTotalAmount currencyID="{cur}">').replace("<ram:DuePayableAmount>", f'<ram:DuePayableAmount currencyID="{cur}">')}</ram:SpecifiedTradeSettlementMonetarySummation></ram:ApplicableSupplyChainTradeSettlement></rsm:SpecifiedSupplyChainTradeTransaction></rsm:CrossIndustryDocument>
'''
    p = x.get("prefixes", "rsm ram udt").split()
    text = f'''<?xml version="1.0" encoding="UTF-8"?>
<rsm:CrossIndustryInvoice xmlns:rsm="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100" xmlns:ram="urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100" xmlns:udt="urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100">
<rsm:ExchangedDocumentContext><ram:GuidelineSpecifiedDocumentContextParameter><ram:ID>{GUIDE[x["profile"]]}</ram:ID></ram:GuidelineSpecifiedDocumentContextParameter></rsm:ExchangedDocumentContext>
<rsm:ExchangedDocument><ram:ID>{e(f["reference"])}</ram:ID><ram:TypeCode>{x.get("type", 380)}</ram:TypeCode>{day("IssueDateTime", f["date"])}{note}</rsm:ExchangedDocument>
<rsm:SupplyChainTradeTransaction>{lines}<ram:ApplicableHeaderTradeAgreement>{seller}{buyer}{order}</ram:ApplicableHeaderTradeAgreement><ram:ApplicableHeaderTradeDelivery/><ram:ApplicableHeaderTradeSettlement><ram:InvoiceCurrencyCode>{cur}</ram:InvoiceCurrencyCode>{taxes}{terms}<ram:SpecifiedTradeSettlementHeaderMonetarySummation>{sums}</ram:SpecifiedTradeSettlementHeaderMonetarySummation></ram:ApplicableHeaderTradeSettlement></rsm:SupplyChainTradeTransaction>
</rsm:CrossIndustryInvoice>
'''
    for old, new in zip(("rsm", "ram", "udt"), p):
        text = text.replace(f"<{old}:", f"<{new}:").replace(f"</{old}:", f"</{new}:").replace(f"xmlns:{old}=", f"xmlns:{new}=")
    return text


def embedded(pdf, x, fields):
    import pikepdf
    doc = pikepdf.open(io.BytesIO(pdf))
    text = x["text"] if "text" in x else e_invoice(x, fields)
    if x.get("cut"):
        text = text[: len(text) // 2]
    spec = pikepdf.AttachedFileSpec(doc, text.encode(), filename=x["file"], mime_type="text/xml", relationship=pikepdf.Name("/" + x.get("relation", "Alternative")),
                                    creation_date="D:20260101000000Z", mod_date="D:20260101000000Z")
    doc.attachments[x["file"]] = spec
    if not x.get("plain"):
        doc.Root.AF = doc.make_indirect(pikepdf.Array([spec.obj]))
    buf = io.BytesIO()
    doc.save(buf, deterministic_id=True, object_stream_mode=pikepdf.ObjectStreamMode.generate if x.get("packed") else pikepdf.ObjectStreamMode.disable)
    return buf.getvalue()


def made(name, opts, body):
    engine = opts.get("engine", "rl")
    if engine in ("txt", "csv"):
        return (body + "\n").encode(opts.get("charset", "utf-8"))
    if engine == "docx":
        return with_docx(body, opts)
    if engine == "xlsx":
        return with_xlsx(body, opts)
    if engine == "scene":
        im = scene(opts["seed"]); buf = io.BytesIO()
        if name.endswith("png"):
            im.quantize(32).save(buf, "PNG", optimize=True)
        else:
            im.save(buf, "JPEG", quality=55)
        return buf.getvalue()
    pages, size = lay(body, opts)
    if engine == "image":
        im = drawn(pages[0], size, opts, opts.get("dpi", 150)); buf = io.BytesIO()
        if name.endswith("png"):
            im.quantize(8).save(buf, "PNG", optimize=True)
        else:
            im.save(buf, "JPEG", quality=opts.get("quality", 35))
        return buf.getvalue()
    if engine in ("scan", "scan-ocr"):
        pdf = with_scan(pages, size, opts, engine == "scan-ocr")
    else:
        pdf = (with_fpdf if engine == "fpdf" else with_reportlab)(pages, size, opts)
    return embedded(pdf, opts["xml"], {**opts["fields"], **opts["xml"].get("say", {})}) if "xml" in opts else pdf


def form(name, opts):
    engine = opts.get("engine", "rl")
    if "xml" in opts and not opts["xml"].get("decoy"):
        return "embedded"
    return {"rl": "text", "fpdf": "text", "scan-ocr": "text", "scan": "scan", "image": "image", "scene": "image"}.get(engine, engine)


def label(name, opts):
    fields = {key: opts.get("fields", {}).get(key) for key in FIELDS}
    line = {"file": name, "language": opts["lang"], "kind": opts["kind"], "fields": fields, "form": form(name, opts), "half": half(name)}
    if line["form"] == "embedded":
        line["inside"] = [k for k in FIELDS if fields[k] is not None and (k != "dueDate" or opts["xml"]["profile"] != "minimum")]
    if "also" in opts:
        line["also"] = opts["also"]
    return line


def check():
    lines = lambda p: [json.loads(l) for l in p.read_text().splitlines()]
    for folder, suffix in (("mails", ".eml"), ("documents", "")):
        labels = lines(HERE / folder / "labels.jsonl")
        names = [l["file"] for l in labels]
        assert len(names) == len(set(names)), "a name twice"
        there = {p.name for p in (HERE / folder).iterdir()} - {"labels.jsonl"}
        assert there == set(names), there ^ set(names)
        for l in labels:
            assert l["half"] == half(l["file"]), l
            if folder == "documents":
                f = l["fields"]
                assert l["kind"] in KINDS and list(f) == FIELDS, l
                assert f["amount"] is None or isinstance(f["amount"], (int, float)), l
                assert (f["currency"] is None) or re.fullmatch("[A-Z]{3}", f["currency"]), l
                for d in (f["date"], f["dueDate"]):
                    assert d is None or datetime.date.fromisoformat(d), l
        print(folder, len(labels), "sealed", sum(l["half"] == "sealed" for l in labels))


def main():
    if sys.argv[1:] == ["check"]:
        return check()
    OUT.mkdir(exist_ok=True); labels = []
    for name, opts, body in sources():
        assert opts["kind"] in KINDS and not set(opts.get("fields", {})) - set(FIELDS), name
        labels.append(label(name, opts))
        if not sys.argv[1:] or name in sys.argv[1:]:
            try:
                (OUT / name).write_bytes(made(name, opts, body))
            except Exception as wrong:
                raise SystemExit(f"{name}: {wrong!r}")
    labels.sort(key=lambda l: l["file"])
    (OUT / "labels.jsonl").write_text("".join(json.dumps(l, ensure_ascii=False) + "\n" for l in labels))


if __name__ == "__main__":
    main()
